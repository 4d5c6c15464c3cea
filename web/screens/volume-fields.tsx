import { visible } from '../figures/visible.js';
import { Rows } from '../parts/rows.js';
import { instanceName } from '../state/account.js';
import { draft } from '../state/launch-draft.js';
import { FIRST_PATH, useVolumes } from '../state/volumes.js';
import { texts } from '../texts/en/launch.js';

/** Fields for the instance's volumes and their paths. Empty for an account without volumes. */
export function VolumeFields() {
  const { volumes } = useVolumes();
  const rows = draft.value.volumes;
  // A new row starts with a free volume, so all of them must be known.
  if (volumes === null || (volumes.length === 0 && rows.length === 0)) return null;
  const isTaken = (id: string) => rows.some((row) => row.id === id);
  const next = volumes.find(({ id, inUseBy }) => inUseBy === null && !isTaken(id));
  return (
    <Rows
      legend={texts.volumes}
      one={texts.oneVolume}
      rows={rows}
      empty={{ id: next?.id ?? '', path: rows.length === 0 ? FIRST_PATH : '' }}
      onChange={(changed) => {
        draft.value = { ...draft.value, volumes: changed };
      }}
    >
      {({ id, path }, change, label) => (
        <>
          <select
            aria-label={texts.volumeOf(label)}
            value={id}
            onChange={({ currentTarget }) => change({ id: currentTarget.value })}
          >
            <option value="">{texts.choose}</option>
            {id !== '' && !volumes.some((volume) => volume.id === id) && <option value={id}>{id}</option>}
            {volumes.map((volume) => (
              <option key={volume.id} value={volume.id}>
                {texts.volume(visible(volume.name), volume.sizeGb, volume.inUseBy && instanceName(volume.inUseBy))}
              </option>
            ))}
          </select>
          <input
            class="mono"
            aria-label={texts.pathOf(label)}
            placeholder={texts.pathHint}
            autocomplete="off"
            spellcheck={false}
            value={path}
            onInput={({ currentTarget }) => change({ path: currentTarget.value.trim() })}
          />
        </>
      )}
    </Rows>
  );
}
