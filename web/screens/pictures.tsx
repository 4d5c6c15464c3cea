/** Paths of images drawn for this project, with lines in the text colour on a grid of 24 by 24. */
const PATHS: Readonly<Record<string, string>> = {
  box: 'M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8',
  chat: 'M4 5h16v11h-9l-4 4v-4H4zM8 9h8M8 12h5',
  code: 'M9 8l-4 4 4 4M15 8l4 4-4 4M13 6l-2 12',
  flame: 'M12 3c1 4 5 6 5 11a5 5 0 0 1-10 0c0-3 2-4 2-7 2 1 3 2 3 4',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01',
  notebook: 'M7 4h12v16H7zM7 8H4M7 12H4M7 16H4M11 8h5M11 12h5',
  scene: 'M12 4l8 14H4zM12 4v9M12 13l8 5M12 13l-8 5',
  server: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01M12 8h5M12 16h5',
  terminal: 'M4 5h16v14H4zM8 9l3 3-3 3M13 15h4',
  tune: 'M5 7h8M17 7h2M5 12h2M11 12h8M5 17h7M16 17h3M15 5v4M9 10v4M14 15v4',
};

/** The picture next to a template's title, which is only decorative. */
export function Picture({ name }: { name: string }) {
  return (
    <svg class="picture" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[Object.hasOwn(PATHS, name) ? name : 'box']} />
    </svg>
  );
}
