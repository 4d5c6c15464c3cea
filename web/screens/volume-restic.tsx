import { useSignal } from '@preact/signals';
import { visible } from '../figures/visible.js';
import { VolumePassword } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/notice.js';
import type { Volume } from '../state/volumes.js';
import { texts } from '../texts/en/volume-restic.js';

/** Explains how the owner can transfer data with restic, without needing a machine. */
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
  return (
    <Dialog title={texts.title(visible(name))} onClose={onClose}>
      <div class="dialog-body stack">
        <p>{inUseBy === null ? texts.free : texts.inUse}</p>
        <pre class="mono small">
          {[
            `export GPU_API_KEY=…  # ${texts.oneOfYourKeys}`,
            `export RESTIC_REPOSITORY="${repository}"`,
            `export RESTIC_PASSWORD=${password.value ?? '…'}`,
            'restic snapshots',
            'restic restore latest --target copy',
            ...(inUseBy === null ? [`restic init  # ${texts.neverRan}`, 'restic backup data'] : []),
          ].join('\n')}
        </pre>
        <div class="row">
          {password.value === null ? (
            <button type="button" onClick={show}>
              {texts.show}
            </button>
          ) : (
            <Copy text={password.value} label={texts.copy} />
          )}
        </div>
        <Failure error={error.value} />
      </div>
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          {texts.close}
        </button>
      </div>
    </Dialog>
  );
}
