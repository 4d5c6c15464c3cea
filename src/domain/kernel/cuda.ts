export const CUDA_VERSION = /^(\d{1,2})(?:\.(\d{1,2}))?$/;

/** Converts a CUDA version to a comparable number, such as 1204 for 12.4. Returns 0 for a machine without CUDA. */
export function cudaNumber(version: string): number {
  const [, major, minor = '0'] = CUDA_VERSION.exec(version) ?? [];
  return major === undefined ? 0 : Number(major) * 100 + Number(minor);
}
