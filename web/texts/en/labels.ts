export const texts = {
  labels: 'Labels',
  hint: 'team=vision, experiment=a1',
};
