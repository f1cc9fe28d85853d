import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type HtmlTagDescriptor, type Plugin } from 'vite'

/** The service delivers it under /dashboard/ with a CSP that forbids inline code, so nothing is inlined. */
export default defineConfig({
  base: '/dashboard/',
  plugins: [react(), tailwindcss(), preloadFonts(), applyThemeFirst()],
  build: {
    outDir: 'dist',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2024',
  },
})

/** Preloads the font, because theme.css uses it only if it arrives early, to avoid layout shifts. */
function preloadFonts(): Plugin {
  const tag = (file: string): HtmlTagDescriptor => ({
    tag: 'link',
    attrs: {
      rel: 'preload',
      href: `/dashboard/${file}`,
      as: 'font',
      type: 'font/woff2',
      crossorigin: '',
    },
    injectTo: 'head-prepend',
  })
  return {
    name: 'preload-fonts',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle = {} }) =>
        Object.keys(bundle)
          .filter((file) => file.endsWith('.woff2'))
          .map(tag),
    },
  }
}

/** Loads the script of the theme before anything is painted: no module, so that it blocks. */
function applyThemeFirst(): Plugin {
  const source = readFileSync(join(import.meta.dirname, 'src/layout/first-theme.js'))
  return {
    name: 'apply-theme-first',
    buildStart() {
      this.emitFile({ type: 'asset', name: 'first-theme.js', source })
    },
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle = {} }) =>
        Object.keys(bundle)
          .filter((file) => file.startsWith('assets/first-theme-'))
          .map((file) => ({
            tag: 'script',
            attrs: { src: `/dashboard/${file}` },
            injectTo: 'head-prepend',
          })),
    },
  }
}
