#version 450
// Accesses no application resources.
layout(local_size_x = 8) in;
void main() {}
