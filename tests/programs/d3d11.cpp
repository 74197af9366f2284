// A Direct3D 11 program without a window: draws a triangle and runs a kernel COUNT times, and
// prints what both leave in memory. DXVK's native build and wine run it. Usage: d3d11 VERTEX PIXEL
// KERNEL COUNT     the first three are files of compiled shaders (d3d11.hlsl)
#include <d3d11.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "d3d11_picture.h"

namespace {

std::vector<char> file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// FNV-1a of rows of `bytes` bytes that are `pitch` bytes apart.
uint64_t hash(const void* data, size_t rows, size_t bytes, size_t pitch) {
  uint64_t sum = 14695981039346656037u;
  for (size_t row = 0; row < rows; ++row)
    for (size_t i = 0; i < bytes; ++i)
      sum = (sum ^ static_cast<const unsigned char*>(data)[row * pitch + i]) * 1099511628211u;
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  constexpr UINT kValues = 256;
  ID3D11Device* device = nullptr;
  ID3D11DeviceContext* context = nullptr;
  const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
  check(D3D11CreateDevice(nullptr, D3D_DRIVER_TYPE_HARDWARE, nullptr, 0, &level, 1,
                          D3D11_SDK_VERSION, &device, nullptr, &context),
        "D3D11CreateDevice");

  const auto vertex_code = file(argv[1]);
  const auto pixel_code = file(argv[2]);
  const auto kernel_code = file(argv[3]);
  ID3D11VertexShader* vertex = nullptr;
  ID3D11PixelShader* pixel = nullptr;
  ID3D11ComputeShader* kernel = nullptr;
  check(device->CreateVertexShader(vertex_code.data(), vertex_code.size(), nullptr, &vertex),
        "CreateVertexShader");
  check(device->CreatePixelShader(pixel_code.data(), pixel_code.size(), nullptr, &pixel),
        "CreatePixelShader");
  check(device->CreateComputeShader(kernel_code.data(), kernel_code.size(), nullptr, &kernel),
        "CreateComputeShader");

  const Picture picture(device);
  D3D11_BUFFER_DESC buffer{};
  buffer.ByteWidth = kValues * 4;
  buffer.BindFlags = D3D11_BIND_UNORDERED_ACCESS;
  buffer.MiscFlags = D3D11_RESOURCE_MISC_BUFFER_STRUCTURED;
  buffer.StructureByteStride = 4;
  D3D11_BUFFER_DESC read_buffer = buffer;
  read_buffer.BindFlags = 0;
  read_buffer.MiscFlags = 0;
  read_buffer.Usage = D3D11_USAGE_STAGING;
  read_buffer.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
  ID3D11Buffer* values = nullptr;
  ID3D11Buffer* read_values = nullptr;
  check(device->CreateBuffer(&buffer, nullptr, &values), "CreateBuffer");
  check(device->CreateBuffer(&read_buffer, nullptr, &read_values), "CreateBuffer");
  D3D11_UNORDERED_ACCESS_VIEW_DESC access{};
  access.ViewDimension = D3D11_UAV_DIMENSION_BUFFER;
  access.Buffer.NumElements = kValues;
  ID3D11UnorderedAccessView* values_view = nullptr;
  check(device->CreateUnorderedAccessView(values, &access, &values_view),
        "CreateUnorderedAccessView");

  picture.bind(context);
  context->VSSetShader(vertex, nullptr, 0);
  context->PSSetShader(pixel, nullptr, 0);
  context->CSSetShader(kernel, nullptr, 0);
  context->CSSetUnorderedAccessViews(0, 1, &values_view, nullptr);
  for (int i = std::atoi(argv[4]); i > 0; --i) {
    context->Draw(3, 0);
    context->Dispatch(kValues / 64, 1, 1);
    context->Flush();
  }

  picture.read(context, [](const void* texels, size_t pitch) {
    std::printf("picture %016llx\n", static_cast<unsigned long long>(
                                         hash(texels, Picture::kSize, Picture::kRowBytes, pitch)));
  });
  context->CopyResource(read_values, values);
  D3D11_MAPPED_SUBRESOURCE map{};
  check(context->Map(read_values, 0, D3D11_MAP_READ, 0, &map), "Map");
  std::printf("values %016llx\n",
              static_cast<unsigned long long>(hash(map.pData, 1, kValues * 4, 0)));
  context->Unmap(read_values, 0);
  std::fflush(stdout);
  return 0;
}
