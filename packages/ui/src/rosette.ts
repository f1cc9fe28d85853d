/** A guilloche pattern as on banknotes and certificates, derived from a text: equal texts give equal patterns. */
export interface Rosette {
  /** One closed curve around the origin, within a radius of 50. */
  readonly path: string
  /** The rotations, in degrees, at which the curve is drawn. */
  readonly turns: readonly number[]
}

/** @param seed a DID or the URL of a certificate */
export function rosettesOf(seed: string): readonly Rosette[] {
  const bits = fnv1a(seed)
  const lobes = 9 + (bits % 6)
  const more = 14 + ((bits >>> 4) % 7)
  return [
    rosette(lobes, 36, 13 + ((bits >>> 8) % 4), 5),
    rosette(more, 37, 7 + ((bits >>> 12) % 4), 3),
  ]
}

/** The outline of the seal. */
export const SEAL_EDGE = wave(40, 47, 2.4)

function rosette(lobes: number, radius: number, depth: number, copies: number): Rosette {
  const turns = Array.from({ length: copies }, (_, i) => round((360 / lobes / copies) * i))
  return { path: wave(lobes, radius, depth), turns }
}

/** A circle whose radius oscillates the given number of times. */
function wave(lobes: number, radius: number, depth: number): string {
  const steps = lobes * 2
  const at = (step: number, distance: number) => {
    const angle = (step / steps) * 2 * Math.PI
    return `${round(distance * Math.cos(angle))} ${round(distance * Math.sin(angle))}`
  }
  let path = `M${at(0, radius)}`
  for (let i = 0; i < steps; i++) {
    const bend = i % 2 === 0 ? depth : -depth
    path += `Q${at(i + 0.5, radius + bend)} ${at(i + 1, radius)}`
  }
  return `${path}Z`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** The FNV-1a hash, which suffices to vary the patterns. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
