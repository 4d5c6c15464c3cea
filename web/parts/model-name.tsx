const MAKER = /^(?:NVIDIA|AMD)(?: GeForce| Tesla| Quadro| Instinct)? /;

/** Returns a model's name without the vendor prefix. */
export const shortName = (name: string): string => name.replace(MAKER, '');

/** Shows a model's name without the vendor prefix that most names have. Screen readers still read the full name. */
export function ModelName({ name }: { name: string }) {
  const [maker = ''] = MAKER.exec(name) ?? [];
  return (
    <>
      {maker !== '' && <span class="hidden">{maker}</span>}
      {name.slice(maker.length)}
    </>
  );
}
