import { expect, test } from 'vitest';
import { isSupportedGpu } from '../../../src/domain/models/rules/supported-gpu.js';

test("vLLM runs on NVIDIA's GPUs since Ampere", () => {
  const supported = [
    'a100-sxm-80gb',
    'a10',
    'a16',
    'h100-pcie',
    'l4',
    'rtx-3060',
    'rtx-a4000',
    'rtx-4000-ada',
    'rtx-pro-6000-ws',
    'gb200',
  ];
  const others = [
    't4',
    'v100-32gb',
    'p40',
    'm60',
    'k80',
    'gtx-1080',
    'titan-xp',
    'rtx-2080-ti',
    'quadro-rtx-8000',
    'mi300x',
    'rx-7900-xtx',
  ];
  expect(supported.filter((slug) => !isSupportedGpu(slug))).toEqual([]);
  expect(others.filter(isSupportedGpu)).toEqual([]);
});
