import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type HtmlTagDescriptor, type Plugin } from 'vite'

/** Served by the service under /dashboard/, under a policy that allows nothing inline: nothing is inlined. */
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

/** A font that comes late is not used (theme.css), so that nothing moves: the page asks for it first. */
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
