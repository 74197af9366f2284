#include "api/instrumentation/shader_object_scene.h"

#include <initializer_list>
#include <random>

#include "support/stages.h"

namespace tally::test {
namespace {

class SceneDice {
 public:
  explicit SceneDice(uint64_t seed) : engine_(seed) {}
  uint32_t below(uint64_t count) { return static_cast<uint32_t>(engine_() % count); }
  bool one_in(uint32_t count) { return below(count) == 0; }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + below(values.size()));
  }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

class SceneMaker {
 public:
  SceneMaker(uint64_t seed, bool mesh) : dice_(seed), mesh_(mesh) {}
  ObjectScene make();

 private:
  using Binds = std::vector<std::pair<VkShaderStageFlagBits, int>>;

  void add(VkShaderStageFlagBits stage, uint32_t variant, int group);
  void add_group(int group);
  int pick(VkShaderStageFlagBits stage, int variant = -1);
  Binds pick_group(int group);
  Binds choose_shaders();
  void add_binds();
  void add_action();
  void add_other_step();
  void add_round();
  SceneStep& add_step(SceneStep::Kind kind, std::array<uint32_t, 5> values = {}) {
    return scene_.steps.emplace_back(SceneStep{kind, values, {}});
  }

  SceneDice dice_;
  const bool mesh_;
  ObjectScene scene_{};
  int groups_ = 0;
  bool draws_mesh_ = false;  // the shaders that were chosen last
};

void SceneMaker::add(VkShaderStageFlagBits stage, uint32_t variant, int group) {
  const bool instrumented = scene_.whole || !dice_.one_in(5);
  uint32_t mode = dice_.below(16);
  if (stage == kFragment && !scene_.discards) mode &= ~(kWritesMemory | kUnevenNumbers);
  scene_.shaders.push_back(
      {stage, variant, mode, group, instrumented, group < 0 && dice_.one_in(5)});
}

void SceneMaker::add_group(int group) {
  const uint32_t kind = dice_.below(mesh_ ? 6 : 4);
  if (kind < 4) {
    add(kVertex, 0, group);
    if ((kind & 1) != 0) {
      add(kControl, 0, group);
      add(kEvaluation, dice_.below(2), group);
    }
    if ((kind & 2) != 0) add(kGeometry, 0, group);
  } else {
    const bool tasks = kind == 5;
    if (tasks) add(kTask, 0, group);
    add(kMesh, tasks ? 1 : 0, group);
  }
  add(kFragment, dice_.below(2), group);
}

int SceneMaker::pick(VkShaderStageFlagBits stage, int variant) {
  std::vector<int> found;
  for (size_t i = 0; i < scene_.shaders.size(); ++i) {
    const SceneShader& shader = scene_.shaders[i];
    if (shader.stage != stage || shader.group >= 0) continue;
    if (variant < 0 || static_cast<int>(shader.variant) == variant)
      found.push_back(static_cast<int>(i));
  }
  return found[dice_.below(found.size())];
}

SceneMaker::Binds SceneMaker::pick_group(int group) {
  Binds binds;
  draws_mesh_ = false;
  for (const VkShaderStageFlagBits stage : kGraphicsStages) {
    int number = kNoShader;
    for (size_t i = 0; i < scene_.shaders.size(); ++i) {
      const SceneShader& shader = scene_.shaders[i];
      if (shader.group == group && shader.stage == stage) number = static_cast<int>(i);
    }
    draws_mesh_ = draws_mesh_ || (stage == kMesh && number >= 0);
    binds.emplace_back(stage, number);
  }
  return binds;
}

// Those of a draw, and null for all other stages.
SceneMaker::Binds SceneMaker::choose_shaders() {
  if (groups_ != 0 && dice_.one_in(3)) {
    return pick_group(static_cast<int>(dice_.below(static_cast<uint64_t>(groups_))));
  }
  const bool mesh = draws_mesh_ = mesh_ && dice_.one_in(4);
  const bool tasks = mesh && dice_.one_in(2), vertices = !mesh;
  const bool patches = vertices && dice_.one_in(2), geometry = vertices && dice_.one_in(3);
  return {{kVertex, vertices ? pick(kVertex) : kNoShader},
          {kControl, patches ? pick(kControl) : kNoShader},
          {kEvaluation, patches ? pick(kEvaluation) : kNoShader},
          {kGeometry, geometry ? pick(kGeometry) : kNoShader},
          {kFragment, dice_.one_in(12) ? kNoShader : pick(kFragment)},
          {kTask, tasks ? pick(kTask) : kNoShader},
          {kMesh, mesh ? pick(kMesh, tasks ? 1 : 0) : kNoShader}};
}

void SceneMaker::add_binds() {
  Binds chosen = choose_shaders();
  if (dice_.one_in(4)) chosen.emplace_back(kCompute, pick(kCompute));
  dice_.shuffle(chosen);
  const uint32_t calls = dice_.of({1u, 1u, 2u, 3u, 8u});
  auto from = chosen.begin();
  for (uint32_t call = 1; call <= calls && from != chosen.end(); ++call) {
    const auto left = static_cast<uint64_t>(chosen.end() - from);
    const auto to = call == calls ? chosen.end() : from + 1 + dice_.below(left);
    add_step(SceneStep::Bind).binds.assign(from, to);
    from = to;
    if (dice_.one_in(3)) add_other_step();
  }
}

void SceneMaker::add_action() {
  if (draws_mesh_) {
    add_step(SceneStep::DrawMeshTasks, {1 + dice_.below(5)});
    return;
  }
  const auto kind =
      dice_.of({SceneStep::Draw, SceneStep::Draw, SceneStep::DrawIndexed, SceneStep::DrawIndirect});
  const uint32_t vertices =
      dice_.one_in(5) ? dice_.of({99u, 300u}) : dice_.of({0u, 1u, 3u, 3u, 4u, 6u, 9u, 30u});
  add_step(kind, {dice_.below(6), vertices, dice_.of({0u, 1u, 1u, 1u, 2u}), dice_.below(20),
                  dice_.below(3)});
}

void SceneMaker::add_other_step() {
  const uint32_t kind = dice_.below(16);
  if (kind < 3) {
    add_step(SceneStep::Push, {dice_.below(1000), dice_.below(4), dice_.below(4), dice_.below(10)});
  } else if (kind < 8) {
    const uint32_t state = dice_.below(kSceneStates), value = dice_.below(64);
    if (state == kAlphaToCoverage && !scene_.discards) return;
    add_step(SceneStep::SetState, {state, value});
  } else if (kind < 14) {
    constexpr std::array kOthers = {SceneStep::EndPass,    SceneStep::BeginRange,
                                    SceneStep::EndRange,   SceneStep::Occlusion,
                                    SceneStep::Statistics, SceneStep::Timestamp};
    add_step(kOthers[kind - 8], {dice_.below(2)});
  } else {
    if (kind == 14) add_step(SceneStep::Bind).binds = {{kCompute, pick(kCompute)}};
    add_step(SceneStep::Dispatch, {dice_.below(6)});
  }
}

void SceneMaker::add_round() {
  const size_t first = scene_.steps.size();
  const bool secondary = !scene_.whole && dice_.one_in(6);
  if (secondary) {
    add_step(SceneStep::Secondary);
    if (dice_.one_in(2)) add_step(SceneStep::BeginRange);
  }
  add_binds();
  for (uint32_t actions = 1 + dice_.below(3); actions > 0; --actions) {
    for (uint32_t i = dice_.below(4); i > 0; --i) add_other_step();
    if (dice_.one_in(3)) {
      const Binds chosen = choose_shaders();
      add_step(SceneStep::Bind).binds = {chosen[dice_.below(chosen.size())]};
    }
    add_action();
  }
  if (secondary) {
    scene_.steps[first].values[0] = static_cast<uint32_t>(scene_.steps.size() - first - 1);
  }
}

ObjectScene SceneMaker::make() {
  scene_.extent = dice_.of<VkExtent2D>({{64, 64}, {65, 63}, {128, 100}});
  scene_.whole = dice_.one_in(3);
  scene_.discards = dice_.one_in(2);
  for (uint32_t i = 0; i < 2; ++i) {
    for (const auto stage : {kVertex, kControl, kEvaluation, kGeometry, kFragment, kCompute}) {
      add(stage, dice_.below(2), kNoShader);
    }
    if (!mesh_) continue;
    add(kTask, 0, kNoShader);
    add(kMesh, i, kNoShader);
  }
  for (uint32_t i = dice_.below(3); i > 0; --i) add_group(groups_++);
  if (dice_.one_in(2)) {
    for (const uint32_t state : {kDepthTest, kDepthWrite, kDepthCompare}) {
      add_step(SceneStep::SetState, {state, 1});
    }
  }
  if (!dice_.one_in(3)) add_step(SceneStep::BeginRange);
  for (uint32_t rounds = 2 + dice_.below(6); rounds > 0; --rounds) add_round();
  return scene_;
}

}  // namespace

ObjectScene make_object_scene(uint64_t seed, bool mesh_shaders) {
  return SceneMaker(seed, mesh_shaders).make();
}

}  // namespace tally::test
