const MAKER = /^(?:NVIDIA|AMD)(?: GeForce| Tesla| Quadro| Instinct)? /;

/** A model without the words that most names begin with; a screen reader hears them all the same. */
export function ModelName({ name }: { name: string }) {
  const [maker = ''] = MAKER.exec(name) ?? [];
  return (
    <>
      {maker !== '' && <span class="hidden">{maker}</span>}
      {name.slice(maker.length)}
    </>
  );
}
