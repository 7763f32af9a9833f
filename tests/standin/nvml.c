/* A stand-in for libnvidia-ml.so.1, built against NVIDIA's own header so that every signature is the real one.
 *
 * It holds no values: an answer is looked up by its key in the file that behaviour.h reads, and what is not there is
 * "not supported". What it does hold is how the real library refuses: a call before the start, a structure of an unknown
 * version, a buffer that is too short, a link that does not exist. */

#define BEHAVIOUR_FILE "STANDIN_NVML"
#define BEHAVIOUR_TRACE "STANDIN_NVML_CALLS"
#include "behaviour.h"
#include <nvml.h>
#include <stdarg.h>

static int starts, users;

/* Handles are addresses in this array; nothing is kept in it. */
static char handles[MAX_BOARDS];

/* The third version came after the header that we build against. */
typedef struct {
    nvmlGpuFabricInfo_v2_t second;
    unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;

static int position_of(nvmlDevice_t device)
{
    char *handle = (char *)device;
    return handle >= handles && handle < handles + board_count ? (int)(handle - handles) : UNKNOWN_BOARD;
}

/* Boards may be numbered otherwise after a second start, as after a reboot or a reset. */
static int position_at(int index)
{
    return renumbered && starts > 1 ? board_count - 1 - index : index;
}

static nvmlReturn_t start_call(const char *function, int board)
{
    nvmlReturn_t code = (nvmlReturn_t)enter(function, board, NVML_SUCCESS, NVML_ERROR_GPU_IS_LOST);
    if (code == NVML_SUCCESS && __atomic_load_n(&users, __ATOMIC_SEQ_CST) == 0)
        return NVML_ERROR_UNINITIALIZED;
    return code == NVML_SUCCESS && board == UNKNOWN_BOARD ? NVML_ERROR_INVALID_ARGUMENT : code;
}

/* Every function that needs a started library begins with one of these two. */
#define ENTER(where)                                                                                                \
    const int board = (where);                                                                                      \
    __attribute__((cleanup(leave))) int code = (int)start_call(__func__, board);                                    \
    if (code != NVML_SUCCESS)                                                                                       \
    return (nvmlReturn_t)code
#define ENTER_BOARD ENTER(position_of(device))

#define NEED(condition, otherwise)                                                                                  \
    if (!(condition))                                                                                               \
    return otherwise

#define TRY(call)                                                                                                   \
    do {                                                                                                            \
        nvmlReturn_t tried = (call);                                                                                \
        if (tried != NVML_SUCCESS)                                                                                  \
            return tried;                                                                                           \
    } while (0)

static nvmlReturn_t read_text(int board, const char *key, const char **answer)
{
    int code;
    *answer = text_of(board, key);
    if (!*answer)
        return NVML_ERROR_NOT_SUPPORTED;
    return sscanf(*answer, "error %d", &code) == 1 ? (nvmlReturn_t)code : NVML_SUCCESS;
}

/* The key may be composed, as in number(board, &answer, "nvlink_state_%u", link). */
__attribute__((format(printf, 3, 4))) static nvmlReturn_t number(int board, long long *answer, const char *form, ...)
{
    char key[128];
    const char *text;
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(key, sizeof key, form, arguments);
    va_end(arguments);
    TRY(read_text(board, key, &text));
    *answer = strtoll(text, NULL, 10);
    return NVML_SUCCESS;
}

static nvmlReturn_t copy(const char *text, char *buffer, unsigned int length)
{
    NEED(buffer, NVML_ERROR_INVALID_ARGUMENT);
    NEED(strlen(text) < length, NVML_ERROR_INSUFFICIENT_SIZE);
    strcpy(buffer, text);
    return NVML_SUCCESS;
}

static nvmlReturn_t copy_of(int board, const char *key, char *buffer, unsigned int length)
{
    const char *text;
    TRY(read_text(board, key, &text));
    return copy(text, buffer, length);
}

/* --- start, stop, the host --- */

/* A start in another process counts too: it leaves an empty file behind. */
static void count_start(void)
{
    const char *mark = getenv("STANDIN_NVML_STARTED");
    starts += mark && access(mark, F_OK) == 0 ? 2 : 1;
    if (mark)
        close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

static nvmlReturn_t start(const char *function)
{
    __attribute__((cleanup(leave))) int code = enter(function, NO_BOARD, NVML_SUCCESS, NVML_ERROR_UNKNOWN);
    if (code == NVML_SUCCESS && __atomic_fetch_add(&users, 1, __ATOMIC_SEQ_CST) == 0)
        count_start();
    return (nvmlReturn_t)code;
}

nvmlReturn_t nvmlInit_v2(void) { return start(__func__); }

nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { return (void)flags, start(__func__); }

nvmlReturn_t nvmlShutdown(void)
{
    ENTER(NO_BOARD);
    __atomic_fetch_sub(&users, 1, __ATOMIC_SEQ_CST);
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    static const char *const texts[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
        "Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power", "Driver Not Loaded",
        "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found", "Function Not Found",
        "Corrupted infoROM", "GPU is lost", "GPU requires reset", "GPU access blocked by the operating system",
        "Driver/library version mismatch", "In use by another client", "Insufficient Memory", "No data",
        "vGPU operation is not available on the GPU when ECC is enabled", "Insufficient Resources",
        "Frequency Not Supported", "Argument Version Mismatch", "Deprecated", "Not Ready", "No GPUs Found",
        "Invalid State",
    };
    return (unsigned)result < sizeof texts / sizeof texts[0] ? texts[result] : "Unknown Error";
}

#define HOST_TEXT(function, key)                                                                                    \
    nvmlReturn_t function(char *text, unsigned int length)                                                          \
    {                                                                                                               \
        ENTER(NO_BOARD);                                                                                            \
        return copy_of(board, key, text, length);                                                                   \
    }
HOST_TEXT(nvmlSystemGetDriverVersion, "driver_version")
HOST_TEXT(nvmlSystemGetNVMLVersion, "nvml_version")

#define HOST_NUMBER(function, key)                                                                                  \
    nvmlReturn_t function(int *answer)                                                                              \
    {                                                                                                               \
        long long found = 0;                                                                                        \
        ENTER(NO_BOARD);                                                                                            \
        NEED(answer, NVML_ERROR_INVALID_ARGUMENT);                                                                  \
        TRY(number(board, &found, key));                                                                            \
        return *answer = (int)found, NVML_SUCCESS;                                                                  \
    }
HOST_NUMBER(nvmlSystemGetCudaDriverVersion, "cuda_version")
HOST_NUMBER(nvmlSystemGetCudaDriverVersion_v2, "cuda_version")

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    ENTER(NO_BOARD);
    for (int i = 0; i < process_count; i++)
        if (processes[i].pid == pid)
            return copy(processes[i].name, name, length);
    return NVML_ERROR_NOT_FOUND;
}

/* --- handles --- */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    ENTER(NO_BOARD);
    NEED(count, NVML_ERROR_INVALID_ARGUMENT);
    return *count = (unsigned)board_count, NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    ENTER(index < (unsigned)board_count ? position_at((int)index) : UNKNOWN_BOARD);
    NEED(device, NVML_ERROR_INVALID_ARGUMENT);
    return *device = (nvmlDevice_t)&handles[board], NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    ENTER_BOARD;
    NEED(index, NVML_ERROR_INVALID_ARGUMENT);
    return *index = (unsigned)position_at(board), NVML_SUCCESS;
}

static int board_with(const char *key, const char *wanted)
{
    for (int i = 0; wanted && i < board_count; i++) {
        const char *text = text_of(i, key);
        if (text && strcasecmp(text, wanted) == 0)
            return i;
    }
    return NO_BOARD;
}

static int board_at(const char *address)
{
    unsigned domain, bus, device, function = 0;
    char whole[32];
    if (!address || sscanf(address, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3)
        return NO_BOARD;
    snprintf(whole, sizeof whole, "%08X:%02X:%02X.%X", domain, bus, device, function);
    return board_with("pci_address", whole);
}

#define HANDLE_BY(function, search)                                                                                 \
    nvmlReturn_t function(const char *wanted, nvmlDevice_t *device)                                                 \
    {                                                                                                               \
        ENTER(search);                                                                                              \
        NEED(wanted && device, NVML_ERROR_INVALID_ARGUMENT);                                                        \
        NEED(board >= 0, NVML_ERROR_NOT_FOUND);                                                                     \
        return *device = (nvmlDevice_t)&handles[board], NVML_SUCCESS;                                               \
    }
HANDLE_BY(nvmlDeviceGetHandleByUUID, board_with("uuid", wanted))
HANDLE_BY(nvmlDeviceGetHandleBySerial, board_with("serial", wanted))
HANDLE_BY(nvmlDeviceGetHandleByPciBusId_v2, board_at(wanted))

/* --- one text or one number each --- */

#define TEXT(function, key)                                                                                         \
    nvmlReturn_t function(nvmlDevice_t device, char *text, unsigned int length)                                     \
    {                                                                                                               \
        ENTER_BOARD;                                                                                                \
        return copy_of(board, key, text, length);                                                                   \
    }
TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetBoardPartNumber, "part_number")
TEXT(nvmlDeviceGetVbiosVersion, "vbios_version")
TEXT(nvmlDeviceGetInforomImageVersion, "inforom_version")

nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *version)
{
    ENTER_BOARD;
    return copy_of(board, "gsp_version", version, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE);
}

nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t device)
{
    long long valid = 0;
    ENTER_BOARD;
    TRY(number(board, &valid, "inforom_valid"));
    return valid ? NVML_SUCCESS : NVML_ERROR_CORRUPTED_INFOROM;
}

#define NUMBER(function, type, key)                                                                                 \
    nvmlReturn_t function(nvmlDevice_t device, type *answer)                                                        \
    {                                                                                                               \
        long long found = 0;                                                                                        \
        ENTER_BOARD;                                                                                                \
        NEED(answer, NVML_ERROR_INVALID_ARGUMENT);                                                                  \
        TRY(number(board, &found, key));                                                                            \
        return *answer = (type)found, NVML_SUCCESS;                                                                 \
    }
NUMBER(nvmlDeviceGetMinorNumber, unsigned int, "minor_number")
NUMBER(nvmlDeviceGetModuleId, unsigned int, "module_id")
NUMBER(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, "architecture")
NUMBER(nvmlDeviceGetBrand, nvmlBrandType_t, "brand")
NUMBER(nvmlDeviceGetPowerUsage, unsigned int, "power_usage")
NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, "energy")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned int, "power_limit_enforced")
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned int, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int, "power_limit_default")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, "pcie_generation")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, "pcie_generation_max")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, "pcie_width_max")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned int, "pcie_generation_max_board")
NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned int, "pcie_replay_counter")
NUMBER(nvmlDeviceGetPcieSpeed, unsigned int, "pcie_speed")
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "clocks_event_reasons")
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "clocks_event_reasons")
NUMBER(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, "clocks_event_reasons_supported")
NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long, "clocks_event_reasons_supported")
NUMBER(nvmlDeviceGetPerformanceState, nvmlPstates_t, "performance_state")
NUMBER(nvmlDeviceGetComputeMode, nvmlComputeMode_t, "compute_mode")
NUMBER(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, "persistence_mode")
NUMBER(nvmlDeviceGetDisplayMode, nvmlEnableState_t, "display_mode")
NUMBER(nvmlDeviceGetDisplayActive, nvmlEnableState_t, "display_active")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, nvmlEnableState_t, "retired_pending")
NUMBER(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t, "virtualization_mode")
NUMBER(nvmlDeviceGetFanSpeed, unsigned int, "fan_speed")
NUMBER(nvmlDeviceGetNumFans, unsigned int, "fan_count")
NUMBER(nvmlDeviceGetMaxMigDeviceCount, unsigned int, "mig_device_count_max")
NUMBER(nvmlDeviceIsMigDeviceHandle, unsigned int, "is_mig_device")
NUMBER(nvmlDeviceGetNumGpuCores, unsigned int, "core_count")
NUMBER(nvmlDeviceGetMemoryBusWidth, unsigned int, "memory_bus_width")

#define NUMBERS(function, type, key, key2)                                                                          \
    nvmlReturn_t function(nvmlDevice_t device, type *answer, type *answer2)                                         \
    {                                                                                                               \
        long long found = 0, found2 = 0;                                                                            \
        ENTER_BOARD;                                                                                                \
        NEED(answer && answer2, NVML_ERROR_INVALID_ARGUMENT);                                                       \
        TRY(number(board, &found, key));                                                                            \
        TRY(number(board, &found2, key2));                                                                          \
        return *answer = (type)found, *answer2 = (type)found2, NVML_SUCCESS;                                        \
    }
NUMBERS(nvmlDeviceGetCudaComputeCapability, int, "compute_capability_major", "compute_capability_minor")
NUMBERS(nvmlDeviceGetPowerManagementLimitConstraints, unsigned int, "power_limit_min", "power_limit_max")
NUMBERS(nvmlDeviceGetEccMode, nvmlEnableState_t, "ecc_mode", "ecc_mode_pending")
NUMBERS(nvmlDeviceGetMigMode, unsigned int, "mig_mode", "mig_mode_pending")
NUMBERS(nvmlDeviceGetGspFirmwareMode, unsigned int, "gsp_mode", "gsp_mode_default")

/* Kinds that the header knows by number: the key ends in the name. */
static const char *const clocks[] = {"graphics", "sm", "memory", "video"};
static const char *const thresholds[] = {"shutdown", "slowdown", "memory_max", "gpu_max"};
static const char *const lifetimes[] = {"volatile", "aggregate"};
static const char *const severities[] = {"corrected", "uncorrected"};
static const char *const link_counters[] = {"replay", "recovery", "crc_flit", "crc_data", "ecc_data"};

#define NUMBER_OF_KIND(function, kind_type, names, key)                                                             \
    nvmlReturn_t function(nvmlDevice_t device, kind_type kind, unsigned int *answer)                                \
    {                                                                                                               \
        long long found = 0;                                                                                        \
        ENTER_BOARD;                                                                                                \
        NEED(answer && (unsigned)kind < sizeof names / sizeof names[0], NVML_ERROR_INVALID_ARGUMENT);               \
        TRY(number(board, &found, key "_%s", names[kind]));                                                         \
        return *answer = (unsigned)found, NVML_SUCCESS;                                                             \
    }
NUMBER_OF_KIND(nvmlDeviceGetClockInfo, nvmlClockType_t, clocks, "clock")
NUMBER_OF_KIND(nvmlDeviceGetMaxClockInfo, nvmlClockType_t, clocks, "clock_max")
NUMBER_OF_KIND(nvmlDeviceGetTemperatureThreshold, nvmlTemperatureThresholds_t, thresholds, "temperature_threshold")

/* --- structures --- */

static nvmlReturn_t fill_pci(nvmlPciInfo_t *pci, const char *address, int board)
{
    long long device = 0, subsystem = 0;
    unsigned domain, bus, slot, function;
    NEED(pci && sscanf(address, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4, NVML_ERROR_INVALID_ARGUMENT);
    number(board, &device, "pci_device");
    number(board, &subsystem, "pci_subsystem");
    *pci = (nvmlPciInfo_t){.domain = domain, .bus = bus, .device = slot, .pciDeviceId = (unsigned)device,
                           .pciSubSystemId = (unsigned)subsystem};
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.%X", domain, bus, slot, function);
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.%X", domain & 0xffff, bus, slot & 0xff,
             function & 0xf);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    const char *address;
    ENTER_BOARD;
    TRY(read_text(board, "pci_address", &address));
    return fill_pci(pci, address, board);
}

static nvmlReturn_t read_memory(int board, nvmlMemory_v2_t *memory)
{
    long long total = 0, reserved = 0, used = 0;
    TRY(number(board, &total, "memory_total"));
    TRY(number(board, &reserved, "memory_reserved"));
    TRY(number(board, &used, "memory_used"));
    memory->total = (unsigned long long)total;
    memory->reserved = (unsigned long long)reserved;
    memory->used = (unsigned long long)used;
    memory->free = memory->total - memory->reserved - memory->used;
    return NVML_SUCCESS;
}

/* The older form counts what is reserved as used. */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    nvmlMemory_v2_t found;
    ENTER_BOARD;
    NEED(memory, NVML_ERROR_INVALID_ARGUMENT);
    TRY(read_memory(board, &found));
    *memory = (nvmlMemory_t){.total = found.total, .free = found.free, .used = found.used + found.reserved};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    ENTER_BOARD;
    NEED(memory, NVML_ERROR_INVALID_ARGUMENT);
    NEED(memory->version == nvmlMemory_v2, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    return read_memory(board, memory);
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory)
{
    long long total = 0, used = 0;
    ENTER_BOARD;
    NEED(memory, NVML_ERROR_INVALID_ARGUMENT);
    TRY(number(board, &total, "bar1_total"));
    TRY(number(board, &used, "bar1_used"));
    memory->bar1Total = (unsigned long long)total;
    memory->bar1Used = (unsigned long long)used;
    memory->bar1Free = memory->bar1Total - memory->bar1Used;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    long long gpu = 0, memory = 0;
    ENTER_BOARD;
    NEED(utilization, NVML_ERROR_INVALID_ARGUMENT);
    TRY(number(board, &gpu, "utilization_gpu"));
    TRY(number(board, &memory, "utilization_memory"));
    return *utilization = (nvmlUtilization_t){(unsigned)gpu, (unsigned)memory}, NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *answer)
{
    long long found = 0;
    ENTER_BOARD;
    NEED(answer && sensor == NVML_TEMPERATURE_GPU, NVML_ERROR_INVALID_ARGUMENT);
    TRY(number(board, &found, "temperature"));
    return *answer = (unsigned)found, NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *answer)
{
    long long found = 0;
    ENTER_BOARD;
    NEED(answer, NVML_ERROR_INVALID_ARGUMENT);
    NEED(answer->version == nvmlTemperature_v1, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    NEED(answer->sensorType == NVML_TEMPERATURE_GPU, NVML_ERROR_INVALID_ARGUMENT);
    TRY(number(board, &found, "temperature"));
    return answer->temperature = (int)found, NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t *answer)
{
    long long found = 0;
    ENTER_BOARD;
    NEED(answer, NVML_ERROR_INVALID_ARGUMENT);
    NEED(answer->version == nvmlMarginTemperature_v1, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    TRY(number(board, &found, "temperature_margin"));
    return answer->marginTemperature = (int)found, NVML_SUCCESS;
}

static nvmlReturn_t read_fabric(int board, nvmlGpuFabricInfo_v2_t *info)
{
    long long state = 0, status = 0, clique = 0, mask = 0;
    TRY(number(board, &state, "fabric_state"));
    TRY(number(board, &status, "fabric_status"));
    TRY(number(board, &clique, "fabric_clique"));
    TRY(number(board, &mask, "fabric_health_mask"));
    *info = (nvmlGpuFabricInfo_v2_t){.version = info->version, .status = (nvmlReturn_t)status,
                                     .cliqueId = (unsigned)clique, .state = (nvmlGpuFabricState_t)state,
                                     .healthMask = (unsigned)mask};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
    nvmlGpuFabricInfo_v2_t found = {0};
    ENTER_BOARD;
    NEED(info, NVML_ERROR_INVALID_ARGUMENT);
    TRY(read_fabric(board, &found));
    *info = (nvmlGpuFabricInfo_t){.status = found.status, .cliqueId = found.cliqueId, .state = found.state};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
    long long newest = 0, summary = 0;
    ENTER_BOARD;
    NEED(info, NVML_ERROR_INVALID_ARGUMENT);
    TRY(number(board, &newest, "fabric_version_max"));
    int third = newest >= 3 && info->version == NVML_STRUCT_VERSION(GpuFabricInfo, 3);
    NEED(third || info->version == nvmlGpuFabricInfo_v2, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    TRY(read_fabric(board, info));
    if (third) {
        TRY(number(board, &summary, "fabric_health_summary"));
        ((nvmlGpuFabricInfo_v3_t *)info)->healthSummary = (unsigned char)summary;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_v1_t *info)
{
    long long enabled = 0;
    ENTER_BOARD;
    NEED(info, NVML_ERROR_INVALID_ARGUMENT);
    TRY(number(board, &enabled, "c2c_enabled"));
    return info->isC2cEnabled = (unsigned)enabled, NVML_SUCCESS;
}

/* --- memory errors --- */

/* Where ECC is switched off, or is not there, there are no counters. */
static nvmlReturn_t ecc_count(int board, unsigned type, unsigned lifetime, const char *place, unsigned long long *count)
{
    long long on = 0, found = 0;
    NEED(count && type < 2 && lifetime < 2, NVML_ERROR_INVALID_ARGUMENT);
    TRY(number(board, &on, "ecc_mode"));
    NEED(on, NVML_ERROR_NOT_SUPPORTED);
    TRY(number(board, &found, "ecc_%s_%s_%s", severities[type], lifetimes[lifetime], place));
    *count += (unsigned long long)found;
    return NVML_SUCCESS;
}

static nvmlReturn_t ecc_total(int board, unsigned type, unsigned lifetime, unsigned long long *count)
{
    *count = 0;
    TRY(ecc_count(board, type, lifetime, "dram", count));
    return ecc_count(board, type, lifetime, "sram", count);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t lifetime,
                                         unsigned long long *count)
{
    ENTER_BOARD;
    NEED(count, NVML_ERROR_INVALID_ARGUMENT);
    return ecc_total(board, type, lifetime, count);
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                             nvmlEccCounterType_t lifetime, nvmlMemoryLocation_t location,
                                             unsigned long long *count)
{
    static const char *const places[] = {"l1", "l2", "dram", "registers", "texture", "shared", "cbu", "sram"};
    ENTER_BOARD;
    NEED(count && (unsigned)location < 8, NVML_ERROR_INVALID_ARGUMENT);
    return *count = 0, ecc_count(board, type, lifetime, places[location], count);
}

nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_t *status)
{
    unsigned version;
    unsigned long long uncorrected[2] = {0, 0}, parity[2] = {0, 0}, corrected[2] = {0, 0};
    long long exceeded = 0, found = 0;
    ENTER_BOARD;
    NEED(status, NVML_ERROR_INVALID_ARGUMENT);
    NEED((version = status->version) == nvmlEccSramErrorStatus_v1, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    TRY(number(board, &exceeded, "sram_threshold_exceeded"));
    for (unsigned i = 0; i < 2; i++) {
        TRY(ecc_count(board, NVML_MEMORY_ERROR_TYPE_CORRECTED, i, "sram", &corrected[i]));
        TRY(ecc_count(board, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, i, "sram", &uncorrected[i]));
        TRY(number(board, &found, "sram_parity_%s", lifetimes[i]));
        parity[i] = (unsigned long long)found;
    }
    *status = (nvmlEccSramErrorStatus_t){
        .version = version, .volatileCor = corrected[0], .aggregateCor = corrected[1],
        .volatileUncParity = parity[0], .volatileUncSecDed = uncorrected[0] - parity[0],
        .aggregateUncParity = parity[1], .aggregateUncSecDed = uncorrected[1] - parity[1],
        .aggregateUncBucketSm = uncorrected[1], .bThresholdExceeded = (unsigned)exceeded};
    return NVML_SUCCESS;
}

static nvmlReturn_t retired(int board, unsigned cause, unsigned *room, unsigned long long *pages,
                            unsigned long long *times)
{
    long long found = 0;
    NEED(room && cause < NVML_PAGE_RETIREMENT_CAUSE_COUNT, NVML_ERROR_INVALID_ARGUMENT);
    TRY(number(board, &found, cause == 0 ? "retired_single_bit" : "retired_double_bit"));
    unsigned given = *room;
    *room = (unsigned)found;
    /* Bindings leave the last argument out when they only ask for the size: it must not be looked at. */
    NEED(given >= *room && (pages || *room == 0), NVML_ERROR_INSUFFICIENT_SIZE);
    for (unsigned i = 0; pages && i < *room; i++) {
        pages[i] = (cause * 0x100ULL + i) << 16;
        if (times)
            times[i] = 1700000000ULL + i;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause, unsigned int *count,
                                       unsigned long long *pages)
{
    ENTER_BOARD;
    return retired(board, cause, count, pages, NULL);
}

nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, nvmlPageRetirementCause_t cause, unsigned int *count,
                                          unsigned long long *pages, unsigned long long *times)
{
    ENTER_BOARD;
    return retired(board, cause, count, pages, times);
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected, unsigned int *uncorrected,
                                       unsigned int *pending, unsigned int *failed)
{
    static const char *const keys[] = {"corrected", "uncorrected", "pending", "failed"};
    unsigned int *const answers[] = {corrected, uncorrected, pending, failed};
    ENTER_BOARD;
    for (int i = 0; i < 4; i++) {
        long long found = 0;
        NEED(answers[i], NVML_ERROR_INVALID_ARGUMENT);
        TRY(number(board, &found, "rows_%s", keys[i]));
        *answers[i] = (unsigned)found;
    }
    return NVML_SUCCESS;
}

/* Newer than the header: version, then two flags. */
typedef struct { unsigned version, channel, tpc; } repair_status_t;

nvmlReturn_t nvmlDeviceGetRepairStatus(nvmlDevice_t device, repair_status_t *status)
{
    long long channel = 0, tpc = 0;
    ENTER_BOARD;
    NEED(status, NVML_ERROR_INVALID_ARGUMENT);
    NEED(status->version == 0x100000C, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    TRY(number(board, &channel, "repair_channel_pending"));
    TRY(number(board, &tpc, "repair_tpc_pending"));
    status->channel = (unsigned)channel;
    status->tpc = (unsigned)tpc;
    return NVML_SUCCESS;
}

/* Newer than the header: version, then the flag. */
typedef struct { unsigned version, unrepairable; } unrepairable_t;

nvmlReturn_t nvmlDeviceGetUnrepairableMemoryFlag_v1(nvmlDevice_t device, unrepairable_t *flag)
{
    long long found = 0;
    ENTER_BOARD;
    NEED(flag, NVML_ERROR_INVALID_ARGUMENT);
    NEED(flag->version == 0x1000008, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    TRY(number(board, &found, "unrepairable_memory"));
    flag->unrepairable = (unsigned)found;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, nvmlRowRemapperHistogramValues_t *histogram)
{
    static const char *const keys[] = {"max", "high", "partial", "low", "none"};
    ENTER_BOARD;
    NEED(histogram, NVML_ERROR_INVALID_ARGUMENT);
    for (int i = 0; i < 5; i++) {
        long long found = 0;
        TRY(number(board, &found, "rows_banks_%s", keys[i]));
        ((unsigned *)histogram)[i] = (unsigned)found;
    }
    return NVML_SUCCESS;
}

/* --- NVLink --- */

/* A value of one link, else that of all links. A board without NVLink does not support the question. */
static nvmlReturn_t of_link(int board, const char *key, unsigned link, long long *answer)
{
    long long count = 0;
    TRY(number(board, &count, "nvlink_count"));
    NEED(link < NVML_NVLINK_MAX_LINKS && (long long)link < count, NVML_ERROR_INVALID_ARGUMENT);
    nvmlReturn_t own = number(board, answer, "nvlink_%s_%u", key, link);
    return own == NVML_ERROR_NOT_SUPPORTED ? number(board, answer, "nvlink_%s", key) : own;
}

#define NUMBER_OF_LINK(function, type, key)                                                                         \
    nvmlReturn_t function(nvmlDevice_t device, unsigned int link, type *answer)                                     \
    {                                                                                                               \
        long long found = 0;                                                                                        \
        ENTER_BOARD;                                                                                                \
        NEED(answer, NVML_ERROR_INVALID_ARGUMENT);                                                                  \
        TRY(of_link(board, key, link, &found));                                                                     \
        return *answer = (type)found, NVML_SUCCESS;                                                                 \
    }
NUMBER_OF_LINK(nvmlDeviceGetNvLinkState, nvmlEnableState_t, "state")
NUMBER_OF_LINK(nvmlDeviceGetNvLinkVersion, unsigned int, "version")
NUMBER_OF_LINK(nvmlDeviceGetNvLinkRemoteDeviceType, nvmlIntNvLinkDeviceType_t, "remote_type")

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link, nvmlNvLinkErrorCounter_t counter,
                                             unsigned long long *answer)
{
    long long found = 0;
    ENTER_BOARD;
    NEED(answer && (unsigned)counter < NVML_NVLINK_ERROR_COUNT, NVML_ERROR_INVALID_ARGUMENT);
    TRY(of_link(board, link_counters[counter], link, &found));
    return *answer = (unsigned long long)found, NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
    long long active = 0;
    const char *address;
    ENTER_BOARD;
    TRY(of_link(board, "state", link, &active));
    NEED(active, NVML_ERROR_NOT_SUPPORTED);
    TRY(read_text(board, "nvlink_remote_address", &address));
    return fill_pci(pci, address, NO_BOARD);
}

/* --- field values --- */

#define U NVML_VALUE_TYPE_UNSIGNED_INT
#define UL NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
#define S NVML_VALUE_TYPE_SIGNED_INT

/* Fields that repeat a value which has a key of its own. Ids above 250 changed their meaning between branches of the
 * driver and are left out. With `link`, the key is one of a link, and the scope says of which. */
static const struct { unsigned id; nvmlValueType_t type; const char *key; int link; } fields[] = {
    {NVML_FI_DEV_ECC_CURRENT, U, "ecc_mode", 0},
    {NVML_FI_DEV_ECC_PENDING, U, "ecc_mode_pending", 0},
    {NVML_FI_DEV_RETIRED_SBE, UL, "retired_single_bit", 0},
    {NVML_FI_DEV_RETIRED_DBE, UL, "retired_double_bit", 0},
    {NVML_FI_DEV_RETIRED_PENDING, U, "retired_pending", 0},
    {NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, UL, "nvlink_crc_flit_total", 0},
    {NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, UL, "nvlink_crc_data_total", 0},
    {NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, UL, "nvlink_replay_total", 0},
    {NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, UL, "nvlink_recovery_total", 0},
    {NVML_FI_DEV_MEMORY_TEMP, U, "temperature_memory", 0},
    {NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, UL, "energy", 0},
    {NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, U, "nvlink_speed", 0},
    {NVML_FI_DEV_NVLINK_LINK_COUNT, U, "nvlink_count", 0},
    {NVML_FI_DEV_PCIE_REPLAY_COUNTER, U, "pcie_replay_counter", 0},
    {NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER, U, "pcie_replay_rollover_counter", 0},
    {NVML_FI_DEV_REMAPPED_COR, U, "rows_corrected", 0},
    {NVML_FI_DEV_REMAPPED_UNC, U, "rows_uncorrected", 0},
    {NVML_FI_DEV_REMAPPED_PENDING, U, "rows_pending", 0},
    {NVML_FI_DEV_REMAPPED_FAILURE, U, "rows_failed", 0},
    {NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT, U, "nvlink_switch_count", 0},
    {NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY, UL, "replay", 1},
    {NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY, UL, "recovery", 1},
    {NVML_FI_DEV_NVLINK_ERROR_DL_CRC, UL, "crc_flit", 1},
    {NVML_FI_DEV_NVLINK_GET_SPEED, U, "speed", 1},
    {NVML_FI_DEV_NVLINK_GET_STATE, U, "state", 1},
    {NVML_FI_DEV_NVLINK_GET_VERSION, U, "version", 1},
    {NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER, U, "pcie_recovery_counter", 0},
    {NVML_FI_DEV_C2C_LINK_COUNT, U, "c2c_link_count", 0},
    {NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS, U, "pcie_correctable_errors", 0},
    {NVML_FI_DEV_PCIE_COUNT_NON_FATAL_ERROR, U, "pcie_nonfatal_errors", 0},
    {NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR, U, "pcie_fatal_errors", 0},
    {NVML_FI_DEV_POWER_AVERAGE, U, "power_usage", 0},
    {NVML_FI_DEV_POWER_INSTANT, U, "power_instant", 0},
    {NVML_FI_DEV_POWER_MIN_LIMIT, U, "power_limit_min", 0},
    {NVML_FI_DEV_POWER_MAX_LIMIT, U, "power_limit_max", 0},
    {NVML_FI_DEV_POWER_DEFAULT_LIMIT, U, "power_limit_default", 0},
    {NVML_FI_DEV_POWER_CURRENT_LIMIT, U, "power_limit_enforced", 0},
    {NVML_FI_DEV_POWER_REQUESTED_LIMIT, U, "power_limit", 0},
    {NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT, S, "tlimit_shutdown", 0},
    {NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT, S, "tlimit_slowdown", 0},
    {NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT, S, "tlimit_memory_max", 0},
    {NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT, S, "tlimit_gpu_max", 0},
    {NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, U, "recovery_action", 0},
};

static nvmlReturn_t known_field(int board, nvmlFieldValue_t *field, long long *answer)
{
    unsigned long long errors = 0;
    unsigned total = field->fieldId - NVML_FI_DEV_ECC_SBE_VOL_TOTAL;
    field->valueType = UL;
    if (total < 4) {
        TRY(ecc_total(board, total % 2, total / 2, &errors));
        return *answer = (long long)errors, NVML_SUCCESS;
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].id == field->fieldId) {
            field->valueType = fields[i].type;
            return fields[i].link ? of_link(board, fields[i].key, field->scopeId, answer)
                                  : number(board, answer, "%s", fields[i].key);
        }
    return NVML_ERROR_NOT_SUPPORTED;
}

/* A value under field_ID_SCOPE, else field_ID, beats what is known; its type is that of the field, else unsigned long. */
static nvmlReturn_t read_field(int board, nvmlFieldValue_t *field)
{
    char own[48], of_all[32];
    long long answer = 0;
    nvmlReturn_t code = known_field(board, field, &answer);
    snprintf(own, sizeof own, "field_%u_%u", field->fieldId, field->scopeId);
    snprintf(of_all, sizeof of_all, "field_%u", field->fieldId);
    if (text_of(board, own))
        code = number(board, &answer, "%s", own);
    else if (text_of(board, of_all))
        code = number(board, &answer, "%s", of_all);
    /* The value is undefined after an error: something that nobody takes for a value. */
    field->value.ullVal = code == NVML_SUCCESS ? 0 : 0x5A5A5A5A5A5A5A5AULL;
    if (code != NVML_SUCCESS)
        return code;
    if (field->valueType == UL)
        field->value.ullVal = (unsigned long long)answer;
    else
        field->value.siVal = (int)answer;
    return code;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *found)
{
    struct timespec now;
    ENTER_BOARD;
    NEED(found && count > 0, NVML_ERROR_INVALID_ARGUMENT);
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < count; i++) {
        found[i].timestamp = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
        found[i].latencyUsec = 1;
        found[i].nvmlReturn = read_field(board, &found[i]);
    }
    return NVML_SUCCESS;
}

/* --- processes --- */

static nvmlReturn_t list_processes(int board, char kind, unsigned int *room, nvmlProcessInfo_t *infos)
{
    unsigned found = 0, given;
    NEED(room, NVML_ERROR_INVALID_ARGUMENT);
    given = *room;
    for (int i = 0; i < process_count; i++) {
        const struct process *process = &processes[i];
        if (process->board != board || process->kind != kind)
            continue;
        if (infos && found < given)
            infos[found] = (nvmlProcessInfo_t){process->pid, process->bytes, 0xffffffff, 0xffffffff};
        found++;
    }
    *room = found;
    return found > given ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

#define PROCESSES(function, kind)                                                                                   \
    nvmlReturn_t function(nvmlDevice_t device, unsigned int *room, nvmlProcessInfo_t *infos)                        \
    {                                                                                                               \
        ENTER_BOARD;                                                                                                \
        return list_processes(board, kind, room, infos);                                                            \
    }
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, 'C')
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, 'G')
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, 'M')
