import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Programs and libraries that npm does not bring, and Debian's packages for them. Tests never install them. */
const PACKAGES = {
  caddy: 'caddy',
  curl: 'curl',
  faketime: 'faketime',
  git: 'git',
  go: 'golang-go',
  'github.com/Masterminds/sprig': 'golang-github-masterminds-sprig-dev',
  'golang.org/x/mod': 'golang-golang-x-mod-dev',
  haproxy: 'haproxy',
  mypy: 'mypy',
  nginx: 'nginx',
  openssl: 'openssl',
  php: 'php-cli',
  pg_dump: 'postgresql-client',
  prometheus: 'prometheus',
  promtool: 'prometheus',
  python3: 'python3',
  'redis-server': 'redis-server',
  ruby: 'ruby',
  script: 'bsdutils',
  'sigs.k8s.io/yaml': 'golang-k8s-sigs-yaml-dev',
  strace: 'strace',
  'systemd-analyze': 'systemd',
} as const

/** What is no program: where Debian's package puts it. */
const FILES: Readonly<Record<string, string>> = {
  'github.com/Masterminds/sprig': '/usr/share/gocode/src/github.com/Masterminds/sprig/functions.go',
  'golang.org/x/mod': '/usr/share/gocode/src/golang.org/x/mod/sumdb/note/note.go',
  'sigs.k8s.io/yaml': '/usr/share/gocode/src/sigs.k8s.io/yaml/yaml.go',
}

type Tool = keyof typeof PACKAGES
const TOOLS = Object.keys(PACKAGES) as Tool[]

interface TestOptions {
  /** Why the test does not run here. */
  readonly skip: string | false
  /** Milliseconds; by default as the runner says. */
  readonly timeout?: number
}

/** `npm test` runs the same tests on every machine, so it leaves out those that need a program from outside npm. */
const IS_QUICK = process.env.TEST_TIER === 'quick'

/** Options for a test that needs programs or libraries. */
export function needs(...tools: readonly Tool[]): TestOptions {
  if (IS_QUICK) return { skip: `part of npm run test:all: it needs ${tools.join(', ')}` }
  const missing = tools.filter((tool) => toolPath(tool) === null)
  if (missing.length === 0) return { skip: false }
  return { skip: `missing: ${missing.map(withPackage).join(', ')}` }
}

/** @returns the programs and libraries that tests need and that are not there, each with the package of Debian that has it */
export function missingTools(): string[] {
  return TOOLS.filter((tool) => toolPath(tool) === null).map(withPackage)
}

function withPackage(tool: Tool): string {
  return `${tool} (Debian: ${PACKAGES[tool]})`
}

/** Options of several kinds for one test: the first reason not to run counts. */
export function allOf(...options: readonly TestOptions[]): TestOptions {
  return options.find(({ skip }) => skip !== false) ?? { skip: false }
}

/** @returns where a program or library is, or null; Debian keeps daemons out of a user's PATH */
export function toolPath(name: string): string | null {
  const file = FILES[name]
  if (file !== undefined) return existsSync(file) ? file : null
  const dirs = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  return dirs.map((dir) => join(dir, name)).find((path) => existsSync(path)) ?? null
}

/** Options for a test in a browser that is too slow for `npm test`. */
export const BROWSER_MATRIX: TestOptions = {
  // Dozens of pages in both themes and widths, on machines that do other things too.
  timeout: 900_000,
  skip: IS_QUICK ? 'part of npm run test:all: it runs in a browser' : withoutBrowser(),
}

/** Options for a test in a browser that is part of `npm test`. */
export const BROWSER: TestOptions = { skip: withoutBrowser() }

function withoutBrowser(): string | false {
  return process.env.SKIP_BROWSER === '1' && 'SKIP_BROWSER=1'
}
