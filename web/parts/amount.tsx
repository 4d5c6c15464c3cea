/** A large figure with its unit, which stands back. */
export const Amount = ({ of: figure, unit }: { of: string; unit: string }) => (
  <>
    {figure} <span class="unit">{unit}</span>
  </>
);
