/* A stand-in for libcuda.so.1: enough of it to ask whether CUDA starts, and how it says that it does not. */

#define BEHAVIOUR_FILE "STANDIN_CUDA"
#define BEHAVIOUR_TRACE "STANDIN_CUDA_CALLS"
#include "behaviour.h"

typedef int CUresult;

enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_NOT_INITIALIZED = 3, CUDA_ERROR_UNKNOWN = 999 };

static const struct { int code; const char *name; const char *text; } errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int started;

#define ENTER                                                                                                       \
    __attribute__((cleanup(leave))) int code = enter(__func__, NO_BOARD, CUDA_SUCCESS, CUDA_ERROR_UNKNOWN);         \
    if (code != CUDA_SUCCESS)                                                                                       \
        return code

CUresult cuInit(unsigned int flags)
{
    ENTER;
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    started = 1;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    ENTER;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    const char *text = text_of(NO_BOARD, "version");
    *version = text ? atoi(text) : 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    ENTER;
    if (!started)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = board_count;
    return CUDA_SUCCESS;
}

static CUresult describe(CUresult error, const char **answer, int name)
{
    *answer = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].code == error)
            return *answer = name ? errors[i].name : errors[i].text, CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    ENTER;
    return describe(error, name, 1);
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    ENTER;
    return describe(error, text, 0);
}
