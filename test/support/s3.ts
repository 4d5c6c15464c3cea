import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import S3rver from 's3rver';

/** A real S3 server on a free port with one bucket, whose objects are stored in a separate folder. */
export interface TestS3 {
  endpoint: string;
  bucket: string;
  /**
   * Stores copies of an object next to it, as a thousand requests would. `name` and `names` are the last parts of keys.
   */
  copyObject(name: string, names: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** Credentials that the AWS SDK reads from the environment. s3rver accepts no others. */
export const S3_CREDENTIALS = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };

export async function startS3(bucket = 'volumes'): Promise<TestS3> {
  const directory = await mkdtemp(join(tmpdir(), 's3-'));
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await server.run();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bucket,
    copyObject: async (name, names) => {
      const files = (await readdir(directory, { recursive: true })).filter((path) => basename(path).startsWith(name));
      for (const file of files) {
        for (const other of names) {
          const copy = join(dirname(file), basename(file).replace(name, other));
          await copyFile(join(directory, file), join(directory, copy));
        }
      }
    },
    close: async () => {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
