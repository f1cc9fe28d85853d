/** Curves of a guilloche, as they stand on banknotes and certificates: the same text gives the same ones, another text others. */
export interface Rosette {
  /** One closed curve around the origin, within a radius of 50. */
  readonly path: string
  /** The angles, in degrees, at which it is drawn again. */
  readonly turns: readonly number[]
}

/** @param seed what the pattern belongs to: a DID, or the address of a certificate */
export function rosettesOf(seed: string): readonly Rosette[] {
  const bits = fnv1a(seed)
  const lobes = 9 + (bits % 6)
  const more = 14 + ((bits >>> 4) % 7)
  return [
    rosette(lobes, 36, 13 + ((bits >>> 8) % 4), 5),
    rosette(more, 37, 7 + ((bits >>> 12) % 4), 3),
  ]
}

/** The edge of a seal. */
export const SEAL_EDGE = wave(40, 47, 2.4)

function rosette(lobes: number, radius: number, depth: number, copies: number): Rosette {
  const turns = Array.from({ length: copies }, (_, i) => round((360 / lobes / copies) * i))
  return { path: wave(lobes, radius, depth), turns }
}

/** A circle that swings out and in so many times. */
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

/** Fowler, Noll and Vo's hash: enough to tell patterns apart. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
