/* EGL_BRCM_performance_counters: tokens, types and functions, for programs whose EGL headers lack
 * them.
 *
 * No library needs to be linked: get every function with eglGetProcAddress. Programs that link
 * libEGL_tally.so.0 itself can define EGL_EGLEXT_PROTOTYPES before including this file to get the
 * declarations as well.
 *
 * eglGetPerfCounterDataBRCM fills its buffer with one 16-byte record per active counter: uint32_t
 * group; uint32_t counter; uint64_t value. value / denominator is in the counter's unit. */
#ifndef TALLY_EGL_BRCM_H
#define TALLY_EGL_BRCM_H

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <KHR/khrplatform.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef EGL_BRCM_performance_counters
#define EGL_BRCM_performance_counters 1

#define EGL_ACQUIRE_COUNTERS_BRCM 0x33C0
#define EGL_RELEASE_COUNTERS_BRCM 0x33C1
#define EGL_START_COUNTERS_BRCM 0x33C2
#define EGL_STOP_COUNTERS_BRCM 0x33C3
#define EGL_NUM_COUNTER_GROUPS_BRCM 0x33C4
#define EGL_MAX_COUNTER_STRING_LEN_BRCM 0x33C5

typedef khronos_uint64_t EGLuint64BRCM;

typedef EGLint(EGLAPIENTRYP PFNEGLGETPERFCOUNTERCONSTANTBRCMPROC)(EGLenum pname);
typedef EGLBoolean(EGLAPIENTRYP PFNEGLGETPERFCOUNTERGROUPINFOBRCMPROC)(EGLint group,
                                                                       EGLint nameStrSize,
                                                                       char* groupNameStr,
                                                                       EGLint* numCounters,
                                                                       EGLint* maxActiveCounters);
typedef EGLBoolean(EGLAPIENTRYP PFNEGLGETPERFCOUNTERINFOBRCMPROC)(
    EGLint group, EGLint counter, EGLuint64BRCM* minValue, EGLuint64BRCM* maxValue,
    EGLuint64BRCM* denominator, EGLint nameStrSize, char* nameStr, EGLint unitStrSize,
    char* unitStr);
typedef EGLBoolean(EGLAPIENTRYP PFNEGLSETPERFCOUNTINGBRCMPROC)(EGLenum pname);
typedef EGLBoolean(EGLAPIENTRYP PFNEGLCHOOSEPERFCOUNTERSBRCMPROC)(EGLBoolean enable, EGLint group,
                                                                  EGLint numCounters,
                                                                  EGLint* counterList);
typedef EGLBoolean(EGLAPIENTRYP PFNEGLGETPERFCOUNTERDATABRCMPROC)(EGLint dataBufferBytes,
                                                                  void* data, EGLint* bytesWritten,
                                                                  EGLBoolean resetCounters);

#ifdef EGL_EGLEXT_PROTOTYPES
EGLAPI EGLint EGLAPIENTRY eglGetPerfCounterConstantBRCM(EGLenum pname);
EGLAPI EGLBoolean EGLAPIENTRY eglGetPerfCounterGroupInfoBRCM(EGLint group, EGLint nameStrSize,
                                                             char* groupNameStr,
                                                             EGLint* numCounters,
                                                             EGLint* maxActiveCounters);
EGLAPI EGLBoolean EGLAPIENTRY eglGetPerfCounterInfoBRCM(EGLint group, EGLint counter,
                                                        EGLuint64BRCM* minValue,
                                                        EGLuint64BRCM* maxValue,
                                                        EGLuint64BRCM* denominator,
                                                        EGLint nameStrSize, char* nameStr,
                                                        EGLint unitStrSize, char* unitStr);
EGLAPI EGLBoolean EGLAPIENTRY eglSetPerfCountingBRCM(EGLenum pname);
EGLAPI EGLBoolean EGLAPIENTRY eglChoosePerfCountersBRCM(EGLBoolean enable, EGLint group,
                                                        EGLint numCounters, EGLint* counterList);
EGLAPI EGLBoolean EGLAPIENTRY eglGetPerfCounterDataBRCM(EGLint dataBufferBytes, void* data,
                                                        EGLint* bytesWritten,
                                                        EGLBoolean resetCounters);
#endif

#endif /* EGL_BRCM_performance_counters */

#ifdef __cplusplus
}
#endif

#endif
