/**
 * A part of the repository, which packages and parts its files may import. Where parts overlap, the longest
 * `files` takes a file; what no part takes (tests, tools, bench) may import anything within its package.
 */
export interface Layer {
  readonly name: string
  /** A directory, with its slash, or one file; relative to the root. */
  readonly files: string
  /** Names of layers, its own among them. */
  readonly imports: readonly string[]
  /** The only packages it may import, `node:` modules among them; `x` and all below `x/`. Without it: any. */
  readonly packages?: readonly string[]
  /** Packages that it may not import. */
  readonly never?: readonly string[]
  /** What to do instead of an import that is not allowed. */
  readonly mend: string
}

/** The service and the packages around it. */
export const LAYERS: readonly Layer[] = [
  {
    name: 'protocol',
    files: 'packages/protocol/src/',
    imports: ['protocol'],
    packages: ['typebox', '@noble'],
    mend: 'protocol is pure and runs anywhere: hand the value in as a parameter',
  },
  {
    name: 'server',
    files: 'packages/server/src/',
    imports: ['protocol', 'ui', 'server'],
    mend: 'the service stands on protocol and its own files',
  },
  {
    name: 'server/bin',
    files: 'packages/server/bin/',
    imports: ['server'],
    mend: 'an executable holds no logic: call cli/ or main.ts',
  },
  {
    name: 'cli',
    files: 'packages/cli/src/',
    imports: ['protocol', 'cli'],
    mend: 'the CLI speaks to a service over HTTP: use the wire schemas of @countersign/protocol',
  },
  {
    name: 'cli/bin',
    files: 'packages/cli/bin/',
    imports: ['cli'],
    mend: 'an executable holds no logic: call src/',
  },
  {
    name: 'sdk',
    files: 'packages/sdk/src/',
    imports: ['protocol', 'sdk'],
    mend: 'the SDK speaks to a service over HTTP: use the wire schemas of @countersign/protocol',
  },
  {
    name: 'gateway',
    files: 'packages/gateway/src/',
    imports: ['protocol', 'sdk', 'gateway'],
    mend: 'a gateway speaks to a service through @countersign/sdk',
  },
  {
    name: 'ui',
    files: 'packages/ui/src/',
    imports: ['protocol', 'ui'],
    packages: ['react'],
    mend: 'ui is what pages look like: hand the data in as properties',
  },
  {
    name: 'dashboard',
    files: 'packages/dashboard/src/',
    imports: ['protocol', 'ui', 'dashboard'],
    mend: 'the dashboard speaks to a service over HTTP: use the wire schemas of @countersign/protocol',
  },
]

/** The workspace's packages: `@countersign/x` stands in packages/x. */
export const SCOPE = '@countersign/'

/** Identifiers that code in a directory must not use. */
export const FORBIDDEN_IDENTIFIERS = [
  {
    files: 'packages/server/src/core/database/',
    name: 'CodedError',
    why: 'tables hold no policy: return undefined, false or a row, and let the rules refuse',
  },
]

/** Where `{ error: { …, requestId } }` may be built: nowhere else, so that every error has one shape. */
export const ENVELOPE = {
  within: 'packages/server/src/',
  allowed: ['packages/server/src/core/http/error-handler.ts'],
}

/** Packages whose exported functions, classes and interfaces all have a doc comment. */
export const DOCUMENTED = ['packages/protocol/src/']
