import { useSignal } from '@preact/signals';
import { visible } from '../figures/visible.js';
import { VolumePassword } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/notice.js';
import type { Volume } from '../state/volumes.js';

/** How its owner gets data in and out without a machine, with restic. */
export function OwnRestic({ volume: { id, name, inUseBy }, onClose }: { volume: Volume; onClose(): void }) {
  const password = useSignal<string | null>(null);
  const error = useSignal<unknown>(null);
  const show = async () => {
    try {
      password.value = (await send(VolumePassword, { id })).volumePassword;
    } catch (fault) {
      error.value = fault;
    }
  };
  const { protocol, host } = location;
  const repository = `rest:${protocol}//key:$GPU_API_KEY@${host}/volumes/${id}/`;
  const lines = [
    `export GPU_API_KEY=…  # one of your API keys`,
    `export RESTIC_REPOSITORY="${repository}"`,
    `export RESTIC_PASSWORD=${password.value ?? '…'}`,
    'restic snapshots',
    'restic restore latest --target copy',
    ...(inUseBy === null ? ['restic init  # a volume that never ran', 'restic backup data'] : []),
  ];
  return (
    <Dialog title={`Copy in and out of ${visible(name)}`} onClose={onClose}>
      <div class="dialog-body stack">
        <p>
          A volume is a repository of restic, which you can read from anywhere at any time
          {inUseBy === null
            ? ', and write to while no instance uses it.'
            : '; an instance uses it now, so it alone writes.'}
        </p>
        <pre class="mono small">{lines.join('\n')}</pre>
        <div class="row">
          {password.value === null ? (
            <button type="button" onClick={show}>
              Show the password
            </button>
          ) : (
            <Copy text={password.value} label="Copy the password" />
          )}
        </div>
        <Failure error={error.value} />
      </div>
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
