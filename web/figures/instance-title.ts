interface Named {
  id: string;
  name: string;
  template: string;
}

/** Whether the renter has named the instance. By default, its name is its id. */
export const isNamed = ({ id, name }: Named): boolean => name !== id;

/** Returns what lists call an instance: its name, or else what it runs, without the registry of an image. */
export const titleOf = (instance: Named): string =>
  isNamed(instance) ? instance.name : instance.template.slice(instance.template.lastIndexOf('/') + 1);
