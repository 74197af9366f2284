// A program for Windows without a window, whose shaders the system's compiler compiles: clears a
// target and draws a triangle COUNT times, with Direct3D 11 or 12, and writes the texels.
// Usage: direct3d 11|12 SHADERS COUNT FILE     SHADERS is direct3d.hlsl
#define WIDL_EXPLICIT_AGGREGATE_RETURNS  // as the system's functions return structs
#include <d3d11.h>
#include <d3d12.h>
#include <d3dcompiler.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "d3d11_picture.h"

namespace {

constexpr UINT kSize = Picture::kSize;
constexpr UINT kRowBytes = Picture::kRowBytes;  // 256, as Direct3D 12 aligns rows
constexpr DXGI_FORMAT kFormat = Picture::kFormat;
constexpr float kGrey[4] = {0.25f, 0.25f, 0.25f, 1};
constexpr float kPositions[3][4] = {{-1, -1, 0, 1}, {2, -1, 0, 1}, {-1, 2, 0, 1}};
constexpr UINT kPositionBytes = sizeof kPositions[0];

struct Code {
  Code(const char* file, const char* entry, const char* profile) {
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    check(D3DCompile(text.data(), text.size(), nullptr, nullptr, nullptr, entry, profile, 0, 0,
                     &blob, nullptr),
          entry);
  }
  const void* data() const { return blob->GetBufferPointer(); }
  size_t size() const { return blob->GetBufferSize(); }

  ID3DBlob* blob = nullptr;
};

// Calls a function that makes an object, given the id of its type and where to put the pointer.
template <typename T, typename Create>
T* create(const char* what, Create&& function) {
  T* object = nullptr;
  check(function(__uuidof(T), reinterpret_cast<void**>(&object)), what);
  return object;
}

class Texels {
 public:
  explicit Texels(const char* file) : out_(file, std::ios::binary) {}
  void write(const void* rows, size_t pitch) {
    for (UINT row = 0; row < kSize; ++row)
      out_.write(static_cast<const char*>(rows) + row * pitch, kRowBytes);
  }
  int status() const { return out_.good() ? 0 : 1; }

 private:
  std::ofstream out_;
};

int draw_11(const char* shaders, int count, Texels texels) {
  ID3D11Device* device = nullptr;
  ID3D11DeviceContext* context = nullptr;
  check(D3D11CreateDevice(nullptr, D3D_DRIVER_TYPE_HARDWARE, nullptr, 0, nullptr, 0,
                          D3D11_SDK_VERSION, &device, nullptr, &context),
        "D3D11CreateDevice");
  const Code vertex_code(shaders, "vertex", "vs_5_0");
  const Code pixel_code(shaders, "pixel", "ps_5_0");
  ID3D11VertexShader* vertex = nullptr;
  ID3D11PixelShader* pixel = nullptr;
  check(device->CreateVertexShader(vertex_code.data(), vertex_code.size(), nullptr, &vertex),
        "CreateVertexShader");
  check(device->CreatePixelShader(pixel_code.data(), pixel_code.size(), nullptr, &pixel),
        "CreatePixelShader");
  const D3D11_INPUT_ELEMENT_DESC element{
      "POSITION", 0, DXGI_FORMAT_R32G32B32A32_FLOAT, 0, 0, D3D11_INPUT_PER_VERTEX_DATA, 0};
  ID3D11InputLayout* layout = nullptr;
  check(device->CreateInputLayout(&element, 1, vertex_code.data(), vertex_code.size(), &layout),
        "CreateInputLayout");
  D3D11_BUFFER_DESC buffer{};
  buffer.ByteWidth = sizeof kPositions;
  buffer.BindFlags = D3D11_BIND_VERTEX_BUFFER;
  const D3D11_SUBRESOURCE_DATA data{kPositions, 0, 0};
  ID3D11Buffer* vertices = nullptr;
  check(device->CreateBuffer(&buffer, &data, &vertices), "CreateBuffer");

  const Picture picture(device);
  const UINT offset = 0;
  picture.bind(context);
  context->IASetInputLayout(layout);
  context->IASetVertexBuffers(0, 1, &vertices, &kPositionBytes, &offset);
  context->VSSetShader(vertex, nullptr, 0);
  context->PSSetShader(pixel, nullptr, 0);
  for (int i = 0; i < count; ++i) {
    context->ClearRenderTargetView(picture.view(), kGrey);
    context->Draw(3, 0);
    context->Flush();
  }
  picture.read(context, [&](const void* rows, size_t pitch) { texels.write(rows, pitch); });
  return texels.status();
}

ID3D12Resource* make_resource(ID3D12Device* device, D3D12_HEAP_TYPE kind,
                              const D3D12_RESOURCE_DESC& what, D3D12_RESOURCE_STATES state,
                              const D3D12_CLEAR_VALUE* clear = nullptr) {
  D3D12_HEAP_PROPERTIES heap{};
  heap.Type = kind;
  return create<ID3D12Resource>("CreateCommittedResource", [&](REFIID id, void** object) {
    return device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &what, state, clear, id,
                                           object);
  });
}

ID3D12Resource* make_buffer(ID3D12Device* device, D3D12_HEAP_TYPE kind, UINT64 bytes,
                            D3D12_RESOURCE_STATES state) {
  D3D12_RESOURCE_DESC what{};
  what.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
  what.Width = bytes;
  what.Height = what.DepthOrArraySize = what.MipLevels = 1;
  what.SampleDesc.Count = 1;
  what.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
  return make_resource(device, kind, what, state);
}

ID3D12RootSignature* make_signature(ID3D12Device* device) {
  D3D12_ROOT_SIGNATURE_DESC what{};
  what.Flags = D3D12_ROOT_SIGNATURE_FLAG_ALLOW_INPUT_ASSEMBLER_INPUT_LAYOUT;
  ID3DBlob* blob = nullptr;
  check(D3D12SerializeRootSignature(&what, D3D_ROOT_SIGNATURE_VERSION_1, &blob, nullptr),
        "D3D12SerializeRootSignature");
  return create<ID3D12RootSignature>("CreateRootSignature", [&](REFIID id, void** object) {
    return device->CreateRootSignature(0, blob->GetBufferPointer(), blob->GetBufferSize(), id,
                                       object);
  });
}

ID3D12PipelineState* make_pipeline(ID3D12Device* device, ID3D12RootSignature* signature,
                                   const char* shaders) {
  const Code vertex(shaders, "vertex", "vs_5_0");
  const Code pixel(shaders, "pixel", "ps_5_0");
  const D3D12_INPUT_ELEMENT_DESC element{"POSITION", 0, DXGI_FORMAT_R32G32B32A32_FLOAT,
                                         0,          0, D3D12_INPUT_CLASSIFICATION_PER_VERTEX_DATA,
                                         0};
  D3D12_GRAPHICS_PIPELINE_STATE_DESC what{};
  what.pRootSignature = signature;
  what.VS = {vertex.data(), vertex.size()};
  what.PS = {pixel.data(), pixel.size()};
  what.BlendState.RenderTarget[0].RenderTargetWriteMask = D3D12_COLOR_WRITE_ENABLE_ALL;
  what.SampleMask = UINT_MAX;
  what.RasterizerState.FillMode = D3D12_FILL_MODE_SOLID;
  what.RasterizerState.CullMode = D3D12_CULL_MODE_NONE;
  what.InputLayout = {&element, 1};
  what.PrimitiveTopologyType = D3D12_PRIMITIVE_TOPOLOGY_TYPE_TRIANGLE;
  what.NumRenderTargets = 1;
  what.RTVFormats[0] = kFormat;
  what.SampleDesc.Count = 1;
  return create<ID3D12PipelineState>("CreateGraphicsPipelineState", [&](REFIID id, void** object) {
    return device->CreateGraphicsPipelineState(&what, id, object);
  });
}

ID3D12Resource* make_target(ID3D12Device* device, D3D12_CPU_DESCRIPTOR_HANDLE view) {
  D3D12_RESOURCE_DESC what{};
  what.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
  what.Width = what.Height = kSize;
  what.DepthOrArraySize = what.MipLevels = 1;
  what.Format = kFormat;
  what.SampleDesc.Count = 1;
  what.Flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
  D3D12_CLEAR_VALUE clear{};
  clear.Format = kFormat;
  std::memcpy(clear.Color, kGrey, sizeof kGrey);
  ID3D12Resource* const target = make_resource(device, D3D12_HEAP_TYPE_DEFAULT, what,
                                               D3D12_RESOURCE_STATE_RENDER_TARGET, &clear);
  device->CreateRenderTargetView(target, nullptr, view);
  return target;
}

void copy(ID3D12GraphicsCommandList* list, ID3D12Resource* target, ID3D12Resource* read_target) {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Transition = {target, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                        D3D12_RESOURCE_STATE_RENDER_TARGET, D3D12_RESOURCE_STATE_COPY_SOURCE};
  list->ResourceBarrier(1, &barrier);
  D3D12_TEXTURE_COPY_LOCATION from{}, to{};
  from.pResource = target;
  from.Type = D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX;
  to.pResource = read_target;
  to.Type = D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT;
  to.PlacedFootprint.Footprint = {kFormat, kSize, kSize, 1, kRowBytes};
  list->CopyTextureRegion(&to, 0, 0, 0, &from, nullptr);
}

void run_and_wait(ID3D12Device* device, ID3D12GraphicsCommandList* list) {
  const D3D12_COMMAND_QUEUE_DESC what{};
  auto* const queue = create<ID3D12CommandQueue>(
      "CreateCommandQueue",
      [&](REFIID id, void** object) { return device->CreateCommandQueue(&what, id, object); });
  auto* const fence = create<ID3D12Fence>("CreateFence", [&](REFIID id, void** object) {
    return device->CreateFence(0, D3D12_FENCE_FLAG_NONE, id, object);
  });
  check(list->Close(), "Close");
  ID3D12CommandList* const lists[] = {list};
  queue->ExecuteCommandLists(1, lists);
  check(queue->Signal(fence, 1), "Signal");
  const HANDLE done = ::CreateEventW(nullptr, FALSE, FALSE, nullptr);
  check(fence->SetEventOnCompletion(1, done), "SetEventOnCompletion");
  ::WaitForSingleObject(done, INFINITE);
  fence->Release();
  queue->Release();
}

int draw_12(const char* shaders, int count, Texels texels) {
  auto* const device = create<ID3D12Device>("D3D12CreateDevice", [&](REFIID id, void** object) {
    return D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_11_0, id, object);
  });
  ID3D12RootSignature* const signature = make_signature(device);
  ID3D12PipelineState* const pipeline = make_pipeline(device, signature, shaders);
  ID3D12Resource* const vertices = make_buffer(device, D3D12_HEAP_TYPE_UPLOAD, sizeof kPositions,
                                               D3D12_RESOURCE_STATE_GENERIC_READ);
  ID3D12Resource* const read_target = make_buffer(
      device, D3D12_HEAP_TYPE_READBACK, UINT64{kRowBytes} * kSize, D3D12_RESOURCE_STATE_COPY_DEST);
  void* data = nullptr;
  check(vertices->Map(0, nullptr, &data), "Map");
  std::memcpy(data, kPositions, sizeof kPositions);
  vertices->Unmap(0, nullptr);
  D3D12_DESCRIPTOR_HEAP_DESC views_what{};
  views_what.Type = D3D12_DESCRIPTOR_HEAP_TYPE_RTV;
  views_what.NumDescriptors = 1;
  auto* const views =
      create<ID3D12DescriptorHeap>("CreateDescriptorHeap", [&](REFIID id, void** object) {
        return device->CreateDescriptorHeap(&views_what, id, object);
      });
  const D3D12_CPU_DESCRIPTOR_HANDLE view = views->GetCPUDescriptorHandleForHeapStart();
  ID3D12Resource* const target = make_target(device, view);

  auto* const allocator =
      create<ID3D12CommandAllocator>("CreateCommandAllocator", [&](REFIID id, void** object) {
        return device->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_DIRECT, id, object);
      });
  auto* const list =
      create<ID3D12GraphicsCommandList>("CreateCommandList", [&](REFIID id, void** object) {
        return device->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_DIRECT, allocator, pipeline, id,
                                         object);
      });
  const D3D12_VERTEX_BUFFER_VIEW positions{vertices->GetGPUVirtualAddress(), sizeof kPositions,
                                           kPositionBytes};
  const D3D12_VIEWPORT viewport{0, 0, kSize, kSize, 0, 1};
  const D3D12_RECT scissor{0, 0, kSize, kSize};
  list->SetGraphicsRootSignature(signature);
  list->OMSetRenderTargets(1, &view, FALSE, nullptr);
  list->RSSetViewports(1, &viewport);
  list->RSSetScissorRects(1, &scissor);
  list->IASetPrimitiveTopology(D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
  list->IASetVertexBuffers(0, 1, &positions);
  for (int i = 0; i < count; ++i) {
    list->ClearRenderTargetView(view, kGrey, 0, nullptr);
    list->DrawInstanced(3, 1, 0, 0);
  }
  copy(list, target, read_target);
  run_and_wait(device, list);
  check(read_target->Map(0, nullptr, &data), "Map");
  texels.write(data, kRowBytes);
  read_target->Unmap(0, nullptr);
  for (IUnknown* object : std::initializer_list<IUnknown*>{list, allocator, views, target, vertices,
                                                           read_target, pipeline, signature})
    object->Release();
  device->Release();
  return texels.status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const auto draw = std::strcmp(argv[1], "12") == 0 ? draw_12 : draw_11;
  return draw(argv[2], std::atoi(argv[3]), Texels(argv[4]));
}
