import { fileSize } from '../figures/size.js';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { VolumeSnapshots } from '../graph/documents.js';
import { Dialog } from '../parts/dialog.js';
import { LocalTime } from '../parts/local-time.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { accountChanges, instanceName } from '../state/account.js';
import { useRead } from '../state/read.js';
import type { Volume } from '../state/volumes.js';
import { texts } from '../texts/en/volume-moments.js';

interface Props {
  volume: Volume;
  /** Called with the snapshot to create a new volume from. */
  onRestore(snapshot: string): void;
  onClose(): void;
}

/** Lists a volume's kept snapshots, which cover the last 24 hours and the last 7 days in which it was saved. */
export function Moments({ volume: { id, name }, onRestore, onClose }: Props) {
  const { data, error } = useRead(VolumeSnapshots, { id }, accountChanges);
  const snapshots = data.value?.volume?.snapshots ?? null;
  return (
    <Dialog title={texts.title(visible(name))} onClose={onClose}>
      <div class="dialog-body stack">
        <p class="small quiet">{texts.what}</p>
        <Failure error={error.value} />
        {snapshots !== null && snapshots.length === 0 && (
          <Empty icon="clock" title={texts.none}>
            {texts.noneHint}
          </Empty>
        )}
        {snapshots !== null && snapshots.length > 0 && (
          <Table
            isCards
            columns={[
              [texts.columns.when],
              [texts.columns.size],
              [texts.columns.by],
              [texts.columns.snapshot],
              [texts.columns.actions, 'unseen'],
            ]}
          >
            {snapshots.map((snapshot) => (
              <tr key={snapshot.id}>
                <th scope="row" class="wide">
                  <LocalTime at={secondsOf(snapshot.at)} />
                </th>
                <td class="wide" data-label={texts.columns.size}>
                  {snapshot.sizeBytes === null ? (
                    <span class="quiet">{texts.unknown}</span>
                  ) : (
                    fileSize(snapshot.sizeBytes)
                  )}
                </td>
                <td class="wide mono" data-label={texts.columns.by}>
                  {snapshot.instanceId === null ? (
                    <span class="quiet">{texts.ownRestic}</span>
                  ) : (
                    instanceName(snapshot.instanceId)
                  )}
                </td>
                <td class="wide mono" data-label={texts.columns.snapshot}>
                  {snapshot.id.slice(0, 8)}
                </td>
                <td class="number wide">
                  <button type="button" onClick={() => onRestore(snapshot.id)}>
                    {texts.newVolume}
                  </button>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </div>
    </Dialog>
  );
}
