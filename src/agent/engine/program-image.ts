const BLOCK = 512;
const CHECKSUM = { at: 148, length: 8 };

/** Returns a tar archive whose only file is the executable /program. */
export function tarOfProgram(program: Buffer): Buffer {
  const head = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  head.write('program', 0);
  head.write(octal(0o755, 7), 100);
  head.write(octal(0, 7), 108);
  head.write(octal(0, 7), 116);
  head.write(octal(program.length, 11), 124);
  head.write(octal(0, 11), 136);
  head.fill(' ', CHECKSUM.at, CHECKSUM.at + CHECKSUM.length);
  head.write('0', 156);
  head.write('ustar\x0000', 257);
  head.write(
    octal(
      head.reduce((sum, byte) => sum + byte, 0),
      6,
    ),
    CHECKSUM.at,
  );
  const padding = Buffer.alloc((BLOCK - (program.length % BLOCK)) % BLOCK);
  return Buffer.concat([head, program, padding, Buffer.alloc(2 * BLOCK)]);
}
