import { useSignal } from '@preact/signals';
import { SaveTemplate } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Failure } from '../parts/notice.js';
import type { launchOf } from '../state/launch-form.js';
import { savedChanges } from '../state/saved.js';
import { texts } from '../texts/en/launch.js';

interface Props {
  template: string;
  diskGb: number;
  launch: ReturnType<typeof launchOf>['launch'];
}

/** Saves the form under a name, which adds a card for it. */
export function SaveAs({ template, diskGb, launch }: Props) {
  const name = useSignal('');
  const status = useSignal('');
  const error = useSignal<unknown>(null);
  const save = async () => {
    error.value = null;
    status.value = '';
    try {
      await send(SaveTemplate, { input: { name: name.value, template, diskGb, launch } });
      status.value = texts.isSaved(name.value);
      savedChanges.value += 1;
    } catch (fault) {
      error.value = fault;
    }
  };
  return (
    <div class="stack-tight">
      <label class="field">
        <span>{texts.saveAs}</span>
        <input
          name="save-as"
          maxLength={63}
          autocomplete="off"
          spellcheck={false}
          placeholder={texts.templateNameHint}
          value={name.value}
          onInput={({ currentTarget }) => {
            name.value = currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            void save();
          }}
        />
      </label>
      <div class="row">
        <button type="button" onClick={() => void save()}>
          {texts.save}
        </button>
        <span role="status" class="small quiet">
          {status.value}
        </span>
      </div>
      <Failure error={error.value} />
    </div>
  );
}
