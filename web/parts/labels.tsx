import { type Labels, requirementsOf } from '../figures/labels.js';
import { visible } from '../figures/visible.js';
import { requiredLabels, toggledLabel } from '../state/label-filter.js';
import { texts } from '../texts/en/labels.js';

/** Shows labels as links that filter the instances. */
export function LabelList({ labels }: { labels: Labels }) {
  const requirements = requirementsOf(labels);
  return requirements.length === 0 ? null : (
    <ul class="labels" aria-label={texts.labels}>
      {requirements.map((requirement) => (
        <li key={requirement}>
          <a
            class="badge"
            title={visible(requirement)}
            href={toggledLabel(requirement)}
            aria-current={requiredLabels.value.includes(requirement) || undefined}
          >
            {visible(requirement)}
          </a>
        </li>
      ))}
    </ul>
  );
}

interface FieldProps {
  label?: string;
  value: string;
  onType(text: string): void;
}

/** Field for labels. It keeps the text as typed. */
export function LabelField({ label = texts.labels, value, onType }: FieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        name="labels"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        placeholder={texts.hint}
        value={value}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
      />
    </label>
  );
}

/** Maximum number of labels in a row. */
const MAX_IN_ROW = 2;

/**
 * Shows the values of an instance's first labels while its row is hovered over or has the focus. The keys appear on
 * hover.
 */
export function RowLabels({ labels }: { labels: Labels }) {
  const requirements = requirementsOf(labels);
  const rest = requirements.slice(MAX_IN_ROW);
  return requirements.length === 0 ? null : (
    <span class="row-labels">
      {Object.entries(labels)
        .slice(0, MAX_IN_ROW)
        .map(([key, value], at) => {
          const name = visible(requirements[at]!);
          return (
            <a key={key} class="badge" title={name} aria-label={name} href={toggledLabel(requirements[at]!)}>
              {visible(value === '' ? key : value)}
            </a>
          );
        })}
      {rest.length > 0 && (
        <span class="badge" title={visible(rest.join(', '))}>
          +{rest.length}
        </span>
      )}
    </span>
  );
}
