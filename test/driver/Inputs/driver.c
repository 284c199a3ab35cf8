// Stands for NVIDIA's driver, with GPUs of these compute capabilities.
#ifndef CAPABILITIES
#define CAPABILITIES 0
#endif
static const int capabilities[] = {CAPABILITIES};

int cuInit(unsigned flags) { return flags; }
int cuDeviceGetCount(int *count) { return *count = DEVICES, 0; }
int cuDeviceGet(int *device, int index) { return *device = index, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  return *value = attribute == 75 ? capabilities[device] / 10 : capabilities[device] % 10, 0;
}
