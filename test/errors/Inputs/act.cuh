#include "nowhere_to_be_found.h"
struct __half;
__device__ __forceinline__ float my_act(float x) { return x / (1.f + __expf(-x)); }
__device__ float overloaded(int x);
__device__ float overloaded(const float &x);
__device__ int my_int(float x);
float on_host(float x);
template <class T> __device__ T generic(T x) { return x; }
