/**
 * Matches the slugs of NVIDIA's GPUs before Ampere, and of other vendors' GPUs. The former lack bfloat16, and the CUDA
 * image of vLLM doesn't run on the latter.
 */
const UNSUPPORTED = /^(?:gtx|titan|quadro|tesla|rtx-2\d{3}|[kmpv]\d|t4|mi\d|rx-)/;

/** Whether vLLM serves models in bfloat16 on a GPU model. */
export function isSupportedGpu(slug: string): boolean {
  return !UNSUPPORTED.test(slug);
}
