#version 450
// Touches nothing of the application's.
layout(local_size_x = 8) in;
void main() {}
