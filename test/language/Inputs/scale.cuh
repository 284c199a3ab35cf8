__device__ float scaled(float x, int by);
