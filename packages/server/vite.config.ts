import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/**
 * Two builds of the public pages: what browsers load, served under /assets/ with names that change with what is in
 * them, and the functions that make a page out of data, with everything that they need in one file.
 */
export default defineConfig({
  plugins: [react(), tailwindcss()],
  publicDir: false,
  builder: {
    async buildApp({ build, environments: { client, ssr } }) {
      if (client !== undefined) await build(client)
      if (ssr !== undefined) await build(ssr)
    },
  },
  environments: {
    client: {
      build: {
        outDir: 'dist/pages',
        emptyOutDir: true,
        manifest: 'manifest.json',
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        target: 'es2024',
        rolldownOptions: {
          input: {
            browser: 'src/pages/views/browser.ts',
            'check-request': 'src/pages/views/check-request-browser.ts',
            console: 'src/pages/views/console-browser.ts',
            pages: 'src/pages/views/pages.css',
          },
        },
      },
    },
    ssr: {
      define: { 'process.env.NODE_ENV': JSON.stringify('production') },
      resolve: { noExternal: true },
      build: {
        outDir: 'dist/pages',
        emptyOutDir: false,
        ssr: true,
        target: 'node24',
        rolldownOptions: {
          input: { pages: 'src/pages/views/index.tsx' },
          output: { entryFileNames: 'pages.js' },
        },
      },
    },
  },
})
