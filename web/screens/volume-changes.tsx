import { useSignal } from '@preact/signals';
import { loneRate, micro } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { CreateVolume, DeleteVolume as DeleteDocument, GrowVolume as GrowDocument } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { instanceName } from '../state/account.js';
import type { Volume } from '../state/volumes.js';
import { texts } from '../texts/en/volume-changes.js';

const EXAMPLE = 'data';

interface NewProps {
  pricePerGbHour: number | null;
  /** If set, the new volume starts with this volume's content as of that snapshot. */
  from?: { volume: Volume; snapshot: string } | undefined;
  onClose(): void;
}

export function NewVolume({ pricePerGbHour, from, onClose }: NewProps) {
  const size = useSignal(from === undefined ? '' : String(from.volume.sizeGb));
  const sizeGb = Number(size.value);
  const price = pricePerGbHour === null || !(sizeGb > 0) ? null : micro(pricePerGbHour) * BigInt(Math.trunc(sizeGb));
  const create = (typed: FormData, idempotencyKey: string) => {
    const fromSnapshot = from && { volumeId: from.volume.id, snapshotId: from.snapshot };
    const name = String(typed.get('volume-name')).trim();
    return send(CreateVolume, { input: { name, sizeGb, idempotencyKey, ...(fromSnapshot && { fromSnapshot }) } });
  };
  return (
    <EditDialog title={texts.new} submitLabel={texts.create} onClose={onClose} change={create}>
      {from !== undefined && (
        <p>{texts.begins(<span class="mono">{from.snapshot.slice(0, 8)}</span>, visible(from.volume.name))}</p>
      )}
      <label class="field">
        <span>{texts.name}</span>
        <input name="volume-name" required maxLength={60} autocomplete="off" spellcheck={false} placeholder={EXAMPLE} />
      </label>
      <SizeField
        min={from?.volume.sizeGb ?? 1}
        value={size.value}
        onType={(text) => {
          size.value = text;
        }}
      />
      <p class="small quiet">{price === null ? texts.billed : texts.price(loneRate(price))}</p>
    </EditDialog>
  );
}

export function GrowVolume({ volume: { id, name, sizeGb, priceHr }, onClose }: { volume: Volume; onClose(): void }) {
  const size = useSignal(String(sizeGb));
  const newSizeGb = Number(size.value);
  const price = newSizeGb > sizeGb ? (micro(priceHr) / BigInt(sizeGb)) * BigInt(Math.trunc(newSizeGb)) : null;
  return (
    <EditDialog
      title={texts.growThis(visible(name))}
      submitLabel={texts.grow}
      onClose={onClose}
      change={(_typed, idempotencyKey) => send(GrowDocument, { id, sizeGb: newSizeGb, idempotencyKey })}
    >
      <SizeField
        min={sizeGb + 1}
        value={size.value}
        onType={(text) => {
          size.value = text;
        }}
      />
      <p class="small quiet">{price === null ? texts.has(sizeGb) : texts.hasThen(sizeGb, loneRate(price))}</p>
    </EditDialog>
  );
}

export function DeleteVolume({ volume: { id, name, inUseBy }, onClose }: { volume: Volume; onClose(): void }) {
  return (
    <EditDialog
      title={texts.deleteThis(visible(name))}
      submitLabel={texts.delete}
      isDanger
      onClose={onClose}
      change={(_typed, idempotencyKey) => send(DeleteDocument, { id, idempotencyKey })}
    >
      <p>{texts.erased}</p>
      {inUseBy !== null && <p class="notice warn">{texts.inUse(<span class="mono">{instanceName(inUseBy)}</span>)}</p>}
    </EditDialog>
  );
}

function SizeField({ min, value, onType }: { min: number; value: string; onType(text: string): void }) {
  return (
    <label class="field">
      <span>{texts.size}</span>
      <input
        type="number"
        name="volume-size"
        required
        min={min}
        max={10_000}
        value={value}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
      />
    </label>
  );
}
