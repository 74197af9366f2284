/* A client of EGL_BRCM_performance_counters, written from the extension's specification alone. It
 * lists the groups and counters, draws some frames of triangles with OpenGL ES 2, and prints the
 * value of each counter.
 *
 * It does not depend on Tally. Run it with the vendor library in front of the real one:
 *   __EGL_VENDOR_LIBRARY_FILENAMES=<prefix>/share/tally/egl_vendor.d/10_tally.json \
 *     egl_counters [FRAMES]
 */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally/egl_brcm.h>

enum { TRIANGLES = 8, SIZE = 64 };

static PFNEGLGETPERFCOUNTERCONSTANTBRCMPROC get_constant;
static PFNEGLGETPERFCOUNTERGROUPINFOBRCMPROC get_group_info;
static PFNEGLGETPERFCOUNTERINFOBRCMPROC get_counter_info;
static PFNEGLSETPERFCOUNTINGBRCMPROC set_counting;
static PFNEGLCHOOSEPERFCOUNTERSBRCMPROC choose_counters;
static PFNEGLGETPERFCOUNTERDATABRCMPROC get_data;

static void fail(const char* what) {
  fprintf(stderr, "egl_counters: %s (EGL error 0x%04x)\n", what, (unsigned)eglGetError());
  exit(1);
}

static int has_extension(const char* list, const char* name) {
  const size_t length = strlen(name);
  while (list != NULL && (list = strstr(list, name)) != NULL) {
    if (list[length] == ' ' || list[length] == '\0') return 1;
    list += length;
  }
  return 0;
}

static EGLDisplay open_display(void) {
  const char* client = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  EGLDisplay display = EGL_NO_DISPLAY;
  if (has_extension(client, "EGL_MESA_platform_surfaceless")) {
    display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
  }
  if (display == EGL_NO_DISPLAY && has_extension(client, "EGL_EXT_platform_device")) {
    const PFNEGLQUERYDEVICESEXTPROC query_devices =
        (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
    EGLDeviceEXT device;
    EGLint count = 0;
    if (query_devices(1, &device, &count) && count > 0) {
      display = eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, device, NULL);
    }
  }
  if (display == EGL_NO_DISPLAY) display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  if (!eglInitialize(display, NULL, NULL)) fail("no display");
  if (!has_extension(eglQueryString(display, EGL_EXTENSIONS), "EGL_BRCM_performance_counters")) {
    fail("EGL_BRCM_performance_counters is not supported");
  }
  return display;
}

static EGLSurface make_current(EGLDisplay display) {
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT, EGL_SURFACE_TYPE,
                           EGL_PBUFFER_BIT, EGL_NONE};
  const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
  const EGLint extent[] = {EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE};
  EGLConfig config;
  EGLint count = 0;
  if (!eglChooseConfig(display, wanted, &config, 1, &count) || count == 0) fail("no config");
  const EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
  const EGLSurface surface = eglCreatePbufferSurface(display, config, extent);
  if (!eglMakeCurrent(display, surface, surface, context)) fail("no context");
  return surface;
}

static void find_functions(void) {
  get_constant =
      (PFNEGLGETPERFCOUNTERCONSTANTBRCMPROC)eglGetProcAddress("eglGetPerfCounterConstantBRCM");
  get_group_info =
      (PFNEGLGETPERFCOUNTERGROUPINFOBRCMPROC)eglGetProcAddress("eglGetPerfCounterGroupInfoBRCM");
  get_counter_info =
      (PFNEGLGETPERFCOUNTERINFOBRCMPROC)eglGetProcAddress("eglGetPerfCounterInfoBRCM");
  set_counting = (PFNEGLSETPERFCOUNTINGBRCMPROC)eglGetProcAddress("eglSetPerfCountingBRCM");
  choose_counters =
      (PFNEGLCHOOSEPERFCOUNTERSBRCMPROC)eglGetProcAddress("eglChoosePerfCountersBRCM");
  get_data = (PFNEGLGETPERFCOUNTERDATABRCMPROC)eglGetProcAddress("eglGetPerfCounterDataBRCM");
  if (!get_constant || !get_group_info || !get_counter_info || !set_counting || !choose_counters ||
      !get_data) {
    fail("a function is missing");
  }
}

static void choose_all(void) {
  const EGLint groups = get_constant(EGL_NUM_COUNTER_GROUPS_BRCM);
  for (EGLint group = 0; group < groups; group++) {
    if (!choose_counters(EGL_TRUE, group, 0, NULL)) fail("choosing");
  }
}

static GLuint compile(GLenum type, const char* text) {
  const GLuint shader = glCreateShader(type);
  glShaderSource(shader, 1, &text, NULL);
  glCompileShader(shader);
  return shader;
}

static void prepare_drawing(void) {
  static const GLfloat triangle[] = {-1, -1, 3, -1, -1, 3};
  const GLuint program = glCreateProgram();
  glAttachShader(program,
                 compile(GL_VERTEX_SHADER,
                         "attribute vec2 at; void main() { gl_Position = vec4(at, 0.0, 1.0); }"));
  glAttachShader(
      program,
      compile(
          GL_FRAGMENT_SHADER,
          "precision mediump float; uniform vec4 color; void main() { gl_FragColor = color; }"));
  glBindAttribLocation(program, 0, "at");
  glLinkProgram(program);
  glUseProgram(program);
  GLuint buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof triangle, triangle, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
  glEnableVertexAttribArray(0);
}

static void draw_frame(EGLDisplay display, EGLSurface surface) {
  glClear(GL_COLOR_BUFFER_BIT);
  for (int i = 0; i < TRIANGLES; i++) {
    glUniform4f(0, (GLfloat)i / TRIANGLES, 0.5f, 0.0f, 1.0f);
    glDrawArrays(GL_TRIANGLES, 0, 3);
  }
  eglSwapBuffers(display, surface);
}

static void print_counters(void) {
  EGLint bytes = 0;
  if (!get_data(0, NULL, &bytes, EGL_FALSE)) fail("asking for the size");
  unsigned char* data = malloc((size_t)bytes);
  if (data == NULL || !get_data(bytes, data, &bytes, EGL_TRUE)) fail("reading");
  const EGLint longest = get_constant(EGL_MAX_COUNTER_STRING_LEN_BRCM);
  char* group_name = malloc((size_t)longest);
  char* name = malloc((size_t)longest);
  char* unit = malloc((size_t)longest);
  uint32_t last_group = UINT32_MAX;
  for (EGLint at = 0; at < bytes; at += 16) {
    uint32_t group, counter;
    uint64_t value;
    EGLuint64BRCM denominator = 1;
    memcpy(&group, data + at, 4);
    memcpy(&counter, data + at + 4, 4);
    memcpy(&value, data + at + 8, 8);
    if (group != last_group) {
      EGLint counters = 0, most = 0;
      get_group_info((EGLint)group, longest, group_name, &counters, &most);
      printf("%s (%d counters, %d at a time)\n", group_name, counters, most);
      last_group = group;
    }
    get_counter_info((EGLint)group, (EGLint)counter, NULL, NULL, &denominator, longest, name,
                     longest, unit);
    if (denominator == 1) {
      printf("  %-40s %14llu %s\n", name, (unsigned long long)value, unit);
    } else {
      printf("  %-40s %14.3f %s\n", name, (double)value / (double)denominator, unit);
    }
  }
  free(unit);
  free(name);
  free(group_name);
  free(data);
}

int main(int argc, char** argv) {
  const int frames = argc > 1 ? atoi(argv[1]) : 10;
  const EGLDisplay display = open_display();
  find_functions();
  const EGLSurface surface = make_current(display);

  if (!set_counting(EGL_ACQUIRE_COUNTERS_BRCM))
    fail("the counters are acquired by another process");
  choose_all();
  set_counting(EGL_START_COUNTERS_BRCM);
  prepare_drawing();
  for (int i = 0; i < frames; i++) draw_frame(display, surface);
  set_counting(EGL_STOP_COUNTERS_BRCM);
  print_counters();
  set_counting(EGL_RELEASE_COUNTERS_BRCM);

  eglTerminate(display);
  return 0;
}
