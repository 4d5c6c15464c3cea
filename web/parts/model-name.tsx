const MAKER = /^(?:NVIDIA|AMD)(?: GeForce| Tesla| Quadro| Instinct)? /;

/** The version of an SXM socket, which follows from the model. */
const SOCKET_VERSION = /(?<=\bSXM)\d\b/;

/** Returns a model's name without the vendor and the socket's version: "H100 SXM" for "NVIDIA H100 SXM5". */
export const shortName = (name: string): string => name.replace(MAKER, '').replace(SOCKET_VERSION, '');

/** Shows a model's short name. Screen readers still read the vendor. */
export function ModelName({ name }: { name: string }) {
  const [maker = ''] = MAKER.exec(name) ?? [];
  return (
    <>
      {maker !== '' && <span class="hidden">{maker}</span>}
      {shortName(name)}
    </>
  );
}
