import { createHash } from 'node:crypto';
import type { Plugin } from 'vite';

/**
 * Moves a page's script, styles and images into the page, and adds a policy that allows exactly these. Neither the gateway nor a
 * saved copy of the page can then make it send a request.
 */
export function inOneFile(): Plugin {
  return {
    name: 'in-one-file',
    enforce: 'post',
    generateBundle(_options, bundle) {
      let [script, style] = ['', ''];
      /** Images by their address. */
      const images = new Map<string, string>();
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === 'chunk') script += escaped(file.code, 'script');
        else if (name.endsWith('.css')) style += escaped(String(file.source), 'style');
        else if (name.endsWith('.svg'))
          images.set(`/${name}`, `data:image/svg+xml;base64,${Buffer.from(file.source).toString('base64')}`);
        else continue;
        delete bundle[name];
      }
      const withImages = (text: string) =>
        [...images].reduce((result, [address, data]) => result.replaceAll(address, data), text);
      script = withImages(script);
      const policy = [
        "default-src 'none'",
        `script-src '${hashOf(script)}'`,
        `style-src '${hashOf(style)}'`,
        'img-src data:',
        'font-src data:',
        "base-uri 'none'",
        "form-action 'none'",
      ].join('; ');
      for (const page of Object.values(bundle)) {
        if (page.type !== 'asset' || !page.fileName.endsWith('.html')) continue;
        page.source = withImages(String(page.source))
          .replace(/\s*<script [^>]*src=[^>]*><\/script>/, '')
          .replace(/\s*<link rel="stylesheet"[^>]*>/, '')
          .replace('<head>', () => `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`)
          .replace('</head>', () => `<style>${style}</style></head>`)
          .replace('</body>', () => `<script type="module">${script}</script></body>`);
      }
    },
  };
}

/** Escapes the element's end tag, which could only be part of a string. */
const escaped = (text: string, element: string): string => text.trim().replaceAll(`</${element}`, `<\\/${element}`);

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`;
