const MAKER = /^(?:NVIDIA|AMD)(?: GeForce| Tesla| Quadro| Instinct)? /;

/** A model without the vendor prefix of most names; screen readers still read the full name. */
export function ModelName({ name }: { name: string }) {
  const [maker = ''] = MAKER.exec(name) ?? [];
  return (
    <>
      {maker !== '' && <span class="hidden">{maker}</span>}
      {name.slice(maker.length)}
    </>
  );
}
