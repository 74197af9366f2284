// Generates tokens with llama.cpp as it is in a Node add-on, without Node, always taking the
// likeliest one. Prints the tokens; the time for the prompt and for each token goes to stderr: with
// several rounds, which begin with an empty context and must give the same tokens, the medians of
// all but the first two.
// Usage: llama ADDON MODEL PROMPT TOKENS [FLASH [ROUNDS]]     FLASH: 1 turns flash attention on
#include "llama.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void* library;

template <typename Function>
Function* find(const char* name) {
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function) return function;
  std::fprintf(stderr, "the add-on has no %s\n", name);
  std::exit(2);
}
#define FIND(name) find<decltype(name)>(#name)

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The median without the first two rounds, where there are more.
double usual(std::vector<double> times) {
  if (times.size() > 2) times.erase(times.begin(), times.begin() + 2);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void log_warnings(ggml_log_level level, const char* text, void*) {
  if (level >= GGML_LOG_LEVEL_WARN || std::strstr(text, "matrix cores")) std::fputs(text, stderr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  library = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
  if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  const char* prompt = argv[3];
  const int count = std::atoi(argv[4]);
  const bool flash = argc > 5 && std::atoi(argv[5]) != 0;
  const int rounds = argc > 6 ? std::max(std::atoi(argv[6]), 1) : 1;

  FIND(llama_log_set)(log_warnings, nullptr);
  FIND(llama_backend_init)();
  llama_model_params model_params = FIND(llama_model_default_params)();
  model_params.n_gpu_layers = 99;
  llama_model* model = FIND(llama_model_load_from_file)(argv[2], model_params);
  if (!model) return 3;
  llama_context_params params = FIND(llama_context_default_params)();
  params.n_ctx = params.n_batch = params.n_ubatch = 512;
  params.n_threads = params.n_threads_batch = 2;
  params.flash_attn_type = flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = FIND(llama_init_from_model)(model, params);
  if (!context) return 4;
  const llama_vocab* vocabulary = FIND(llama_model_get_vocab)(model);
  const int words = FIND(llama_vocab_n_tokens)(vocabulary);

  std::vector<llama_token> input(512);
  const int length =
      FIND(llama_tokenize)(vocabulary, prompt, static_cast<int>(std::strlen(prompt)), input.data(),
                           static_cast<int>(input.size()), true, false);
  if (length <= 0) return 5;
  input.resize(static_cast<size_t>(length));

  auto* const batch_of = FIND(llama_batch_get_one);
  auto* const decode = FIND(llama_decode);
  auto* const logits_of = FIND(llama_get_logits_ith);
  auto* const clear = FIND(llama_memory_clear);
  auto* const memory = FIND(llama_get_memory)(context);
  std::vector<llama_token> output, expected;
  std::vector<double> prompts, tokens;  // seconds
  for (int round = 0; round < rounds; ++round) {
    clear(memory, true);
    output.clear();
    const double begin = seconds();
    double first = begin;
    for (int i = 0; i < count; ++i) {
      llama_token last = i ? output.back() : 0;
      if (decode(context, i ? batch_of(&last, 1) : batch_of(input.data(), length)) != 0) return 6;
      const float* logits = logits_of(context, -1);
      output.push_back(static_cast<llama_token>(std::max_element(logits, logits + words) - logits));
      if (i == 0) first = seconds();
    }
    prompts.push_back(first - begin);
    tokens.push_back((seconds() - first) / std::max(count - 1, 1));
    if (round == 0) expected = output;
    if (output != expected) return std::fputs("a round gave other tokens\n", stderr), 7;
  }
  std::printf("%d tokens in the prompt:", length);
  for (llama_token token : output) std::printf(" %d", token);
  std::puts("");
  std::fflush(stdout);
  std::fprintf(stderr, "prompt %.4f s, %.3f ms a token\n", usual(prompts), 1e3 * usual(tokens));
  FIND(llama_free)(context);
  FIND(llama_model_free)(model);
  FIND(llama_backend_free)();
}
