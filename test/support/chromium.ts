import { existsSync, mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { run } from './run.ts'
import { toolPath } from './tools.ts'

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * Starts the Chromium of the npm package `@sparticuz/chromium`, else the system's, with an empty profile. The package's has no window:
 * a test takes three quarters of the time, and every machine draws with the same version and fonts.
 * @throws Error of one line where neither runs here
 */
export async function launchBrowser(): Promise<Browser> {
  const problems: string[] = []
  for (const launch of [launchPackaged, launchInstalled]) {
    try {
      return await launch()
    } catch (error) {
      problems.push(String(error).split('\n', 1)[0] as string)
    }
  }
  throw new Error(
    `Chromium does not run here; SKIP_BROWSER=1 leaves its tests out. ${problems.join('; ')}`,
  )
}

async function launchPackaged(): Promise<Browser> {
  const dir = await unpackedChromium()
  return chromium.launch({
    executablePath: join(dir, 'chromium'),
    args: FLAGS,
    env: { ...process.env, FONTCONFIG_FILE: join(dir, 'fonts.conf') },
  })
}

async function launchInstalled(): Promise<Browser> {
  const executablePath = toolPath('chromium')
  if (executablePath === null) throw new Error('there is no program `chromium`')
  return chromium.launch({ executablePath, args: FLAGS })
}

/** Unpacked once a checkout and version, under a name that appears when everything is there. */
async function unpackedChromium(): Promise<string> {
  const require = createRequire(import.meta.url)
  const { version } = require('../../node_modules/@sparticuz/chromium/package.json')
  const cache = join(import.meta.dirname, '../../node_modules/.cache')
  const dir = join(cache, `chromium-${version}`)
  if (existsSync(dir)) return dir
  mkdirSync(cache, { recursive: true })
  const unfinished = mkdtempSync(`${dir}-`)
  // The package unpacks into the directory for temporary files, which is chosen when a process starts.
  const program = `await (await import('@sparticuz/chromium')).default.executablePath()`
  const env = { TMPDIR: unfinished }
  const args = ['--input-type=module', '--eval', program]
  const { code, stderr } = await run(process.execPath, args, env, '', {}, import.meta.dirname)
  if (code !== 0) throw new Error(stderr)
  writeFileSync(join(unfinished, 'fonts.conf'), fontsConfig(dir))
  try {
    renameSync(unfinished, dir)
  } catch {
    // Another process was faster.
  }
  return dir
}

/** The package's own configuration looks for its fonts in /tmp: without one, text in a monospace font has no width. */
function fontsConfig(dir: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${dir}/fonts</dir>
  <cachedir>${dir}/fonts-cache</cachedir>
</fontconfig>
`
}
