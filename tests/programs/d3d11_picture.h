// The picture that the programs with Direct3D 11 draw, without a window.
#pragma once

#include <d3d11.h>

#include <cstdio>
#include <cstdlib>

inline void check(HRESULT result, const char* what) {
  if (SUCCEEDED(result)) return;
  std::fprintf(stderr, "%s: %08x\n", what, static_cast<unsigned>(result));
  std::exit(1);
}

class Picture {
 public:
  static constexpr UINT kSize = 64;
  static constexpr UINT kRowBytes = kSize * 4;
  static constexpr DXGI_FORMAT kFormat = DXGI_FORMAT_R8G8B8A8_UNORM;

  explicit Picture(ID3D11Device* device) {
    D3D11_TEXTURE2D_DESC texture{};
    texture.Width = texture.Height = kSize;
    texture.MipLevels = texture.ArraySize = texture.SampleDesc.Count = 1;
    texture.Format = kFormat;
    texture.BindFlags = D3D11_BIND_RENDER_TARGET;
    D3D11_TEXTURE2D_DESC staging = texture;
    staging.BindFlags = 0;
    staging.Usage = D3D11_USAGE_STAGING;
    staging.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
    check(device->CreateTexture2D(&texture, nullptr, &target_), "CreateTexture2D");
    check(device->CreateTexture2D(&staging, nullptr, &read_target_), "CreateTexture2D");
    check(device->CreateRenderTargetView(target_, nullptr, &view_), "CreateRenderTargetView");
    D3D11_RASTERIZER_DESC rasterizer{};
    rasterizer.FillMode = D3D11_FILL_SOLID;
    rasterizer.CullMode = D3D11_CULL_NONE;
    check(device->CreateRasterizerState(&rasterizer, &state_), "CreateRasterizerState");
  }

  // Triangles are drawn into the picture.
  void bind(ID3D11DeviceContext* context) const {
    const D3D11_VIEWPORT viewport{0, 0, kSize, kSize, 0, 1};
    context->RSSetState(state_);
    context->RSSetViewports(1, &viewport);
    context->OMSetRenderTargets(1, &view_, nullptr);
    context->IASetPrimitiveTopology(D3D11_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
  }
  ID3D11RenderTargetView* view() const { return view_; }

  // Calls `visit(texels, pitch)`: rows of kRowBytes bytes that are `pitch` bytes apart.
  template <typename Visit>
  void read(ID3D11DeviceContext* context, Visit visit) const {
    context->CopyResource(read_target_, target_);
    D3D11_MAPPED_SUBRESOURCE map{};
    check(context->Map(read_target_, 0, D3D11_MAP_READ, 0, &map), "Map");
    visit(map.pData, map.RowPitch);
    context->Unmap(read_target_, 0);
  }

 private:
  ID3D11Texture2D* target_ = nullptr;
  ID3D11Texture2D* read_target_ = nullptr;
  ID3D11RenderTargetView* view_ = nullptr;
  ID3D11RasterizerState* state_ = nullptr;
};
