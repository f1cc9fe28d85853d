import type { Breach } from './breach.ts'
import type { Import } from './imports.ts'
import { CAPABILITIES, FILE_KINDS, LAYERS, type Layer, SCOPE } from './rules.ts'
import { isTest } from './source-files.ts'

/** What is wrong with an import; the place is added by the caller. */
type Fault = Pick<Breach, 'wrong' | 'mend'>

/** Every import that goes against the table of layers. */
export function checkDirections(imports: readonly Import[]): Breach[] {
  return imports.flatMap((each) => {
    const fault = acrossPackages(each) ?? againstLayer(each) ?? againstKind(each)
    return fault === undefined ? [] : [{ path: each.from, line: each.line, ...fault }]
  })
}

/** No relative path leads out of a package: a package is reached by its name. */
function acrossPackages({ from, specifier, target }: Import): Fault | undefined {
  const home = packageOf(from)
  if (home === undefined || target.kind !== 'file') return undefined
  const other = packageOf(target.path)
  if (other === home) return undefined
  if (other !== undefined) {
    return {
      wrong: `a relative path into another package: '${specifier}'`,
      mend: `import '${SCOPE}${other}', and export there what is needed`,
    }
  }
  // `countersign conformance` sends the vectors. They are data for every language, so they are in no package.
  const sendsVectors = from.startsWith('packages/cli/src/conformance/')
  if (isTest(from) || (sendsVectors && target.path.startsWith('vectors/'))) return undefined
  return {
    wrong: `a path out of the package: '${specifier}'`,
    mend: 'move the file into the package, or hand its content in as a parameter',
  }
}

function againstLayer({ from, specifier, target }: Import): Fault | undefined {
  const layer = layerOf(from)
  if (layer === undefined) return undefined
  if (target.kind === 'package') return packageFault(layer, target.name)
  if (isTest(target.path)) {
    return {
      wrong: `${layer.name} imports test code: '${specifier}'`,
      mend: 'move what both need into src/',
    }
  }
  const other = layerOf(target.path)?.name
  if (other === undefined && target.kind === 'file') return undefined
  if (other !== undefined && layer.imports.includes(other)) return undefined
  const named = target.kind === 'file' ? `${other}: '${specifier}'` : `'${specifier}'`
  return {
    wrong: `${layer.name} imports ${named}; it may import ${layer.imports.join(', ')}`,
    mend: layer.mend,
  }
}

/** Routes, tables and rules keep apart, whatever room they are in. */
function againstKind({ from, specifier }: Import): Fault | undefined {
  const isIn = (folder: string) => from.startsWith(folder)
  if (!CAPABILITIES.within.some(isIn) || CAPABILITIES.except.some(isIn)) return undefined
  const kind = FILE_KINDS.find(({ files }) => files.test(from))
  if (kind === undefined || !kind.never.some((each) => each.test(specifier))) return undefined
  return { wrong: `${kind.name} may not import '${specifier}'`, mend: kind.mend }
}

function packageFault(layer: Layer, name: string): Fault | undefined {
  const listed = layer.packages?.some((each) => covers(each, name)) ?? true
  const banned = layer.never?.some((each) => covers(each, name)) ?? false
  if (listed && !banned) return undefined
  const only = layer.packages === undefined ? '' : `; it may import ${layer.packages.join(', ')}`
  return { wrong: `${layer.name} imports the package '${name}'${only}`, mend: layer.mend }
}

function covers(listed: string, name: string): boolean {
  return name === listed || name.startsWith(`${listed}/`)
}

function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1]
}

function layerOf(path: string): Layer | undefined {
  return LAYERS.filter(({ files }) =>
    files.endsWith('/') ? path.startsWith(files) : path === files,
  )
    .toSorted((a, b) => b.files.length - a.files.length)
    .at(0)
}
