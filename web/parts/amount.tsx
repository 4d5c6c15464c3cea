/** A large figure with its unit in a muted style. */
export const Amount = ({ of: figure, unit }: { of: string; unit: string }) => (
  <>
    {figure} <span class="unit">{unit}</span>
  </>
);
