/**
 * The smallest possible programs, which exit with code 0. The agent uses them to test a host without running anything
 * supplied by a renter.
 */
const PROGRAMS: Partial<Record<NodeJS.Architecture, { machine: number; code: string }>> = {
  // mov eax, 60; xor edi, edi; syscall
  x64: { machine: 62, code: 'b83c00000031ff0f05' },
  // mov x0, 0; mov x8, 93; svc 0
  arm64: { machine: 183, code: '000080d2a80b80d2010000d4' },
};
const LOAD_ADDRESS = 0x400000n;
const HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;

/**
 * Returns a program that exits immediately with code 0, as an ELF file with one loaded segment, or null for an
 * unsupported processor.
 */
export function leastProgram(arch: NodeJS.Architecture): Buffer | null {
  const known = PROGRAMS[arch];
  if (known === undefined) return null;
  const code = Buffer.from(known.code, 'hex');
  const size = BigInt(HEADER_BYTES + PROGRAM_HEADER_BYTES + code.length);
  const head = Buffer.alloc(HEADER_BYTES + PROGRAM_HEADER_BYTES);
  Buffer.from('7f454c46020101', 'hex').copy(head);
  head.writeUInt16LE(2, 16);
  head.writeUInt16LE(known.machine, 18);
  head.writeUInt32LE(1, 20);
  head.writeBigUInt64LE(LOAD_ADDRESS + BigInt(head.length), 24);
  head.writeBigUInt64LE(BigInt(HEADER_BYTES), 32);
  head.writeUInt16LE(HEADER_BYTES, 52);
  head.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
  head.writeUInt16LE(1, 56);
  head.writeUInt32LE(1, HEADER_BYTES);
  head.writeUInt32LE(5, HEADER_BYTES + 4);
  for (const [at, value] of [
    [16, LOAD_ADDRESS],
    [24, LOAD_ADDRESS],
    [32, size],
    [40, size],
    [48, 4_096n],
  ] as const)
    head.writeBigUInt64LE(value, HEADER_BYTES + at);
  return Buffer.concat([head, code]);
}
