import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type HtmlTagDescriptor, type Plugin } from 'vite'

/** The service delivers it under /dashboard/ with a CSP that forbids inline code, so nothing is inlined. */
export default defineConfig({
  base: '/dashboard/',
  plugins: [react(), tailwindcss(), preloadFonts()],
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
