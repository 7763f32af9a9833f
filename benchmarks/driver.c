/* What the peers ask, a real driver answers and the stand-in of the tests does not know, since boardops never asks it.
 * Without this nvitop prints tracebacks, and two checks of gpucm judge nothing. machines.py puts the stand-in itself,
 * nvml.c, before this text. */

#define NO_LOAD(function)                                                                                           \
    nvmlReturn_t function(nvmlDevice_t device, unsigned int *utilization, unsigned int *period)                     \
    {                                                                                                               \
        ENTER_BOARD;                                                                                                \
        return *utilization = 0, *period = 167000, NVML_SUCCESS;                                                    \
    }
NO_LOAD(nvmlDeviceGetEncoderUtilization)
NO_LOAD(nvmlDeviceGetDecoderUtilization)

nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t type, unsigned int *megahertz)
{
    long long found = 0;
    ENTER_BOARD;
    TRY(number(board, &found, type == NVML_CLOCK_MEM ? "clock_max_memory" : "clock_max_graphics"));
    return *megahertz = (unsigned)found, NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *room, nvmlProcessInfo_v2_t *infos)
{
    ENTER_BOARD;
    return list_processes(board, 'C', room, infos);
}

/* Only Windows has driver models. */
#define NO_MODEL(function)                                                                                          \
    nvmlReturn_t function(nvmlDevice_t device, nvmlDriverModel_t *current, nvmlDriverModel_t *pending)              \
    {                                                                                                               \
        ENTER_BOARD;                                                                                                \
        return (void)current, (void)pending, NVML_ERROR_NOT_SUPPORTED;                                              \
    }
#undef nvmlDeviceGetDriverModel
NO_MODEL(nvmlDeviceGetDriverModel)
NO_MODEL(nvmlDeviceGetDriverModel_v2)
