import type { Breach } from './breach.ts'
import type { Import } from './imports.ts'

/** For each file, the files that it imports, with the import statement. */
type Graph = ReadonlyMap<string, ReadonlyMap<string, Import>>

/** Finds the shortest cycle through each file, counting type imports. Reports each cycle once. */
export function checkCycles(imports: readonly Import[]): Breach[] {
  const graph = graphOf(imports)
  const rings = new Map<string, string[]>()
  for (const start of [...graph.keys()].sort()) {
    const ring = ringThrough(graph, start)
    const members = ring?.toSorted().join() ?? ''
    if (ring !== undefined && !rings.has(members)) rings.set(members, ring)
  }
  return [...rings.values()].map((ring) => {
    const [first = '', second = first] = ring
    return {
      path: first,
      line: graph.get(first)?.get(second)?.line ?? 1,
      wrong: `an import cycle: ${[...ring, first].join(' -> ')}`,
      mend: 'move what both sides need (a type counts) into a file of its own',
    }
  })
}

function graphOf(imports: readonly Import[]): Graph {
  const graph = new Map<string, Map<string, Import>>()
  for (const each of imports) {
    if (each.target.kind === 'package') continue
    const targets = graph.get(each.from) ?? new Map<string, Import>()
    if (!targets.has(each.target.path)) targets.set(each.target.path, each)
    graph.set(each.from, targets)
  }
  return graph
}

/** The shortest path from a file back to itself, without the repeated end, by breadth-first search. */
function ringThrough(graph: Graph, start: string): string[] | undefined {
  const cameFrom = new Map<string, string>()
  const queue = [start]
  for (const file of queue) {
    for (const next of graph.get(file)?.keys() ?? []) {
      if (next === start) return wayTo(file, cameFrom)
      if (cameFrom.has(next)) continue
      cameFrom.set(next, file)
      queue.push(next)
    }
  }
  return undefined
}

function wayTo(file: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const before = cameFrom.get(file)
  return before === undefined ? [file] : [...wayTo(before, cameFrom), file]
}
