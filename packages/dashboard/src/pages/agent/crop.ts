/** A square out of a picture, in its pixels. */
export interface Crop {
  readonly x: number
  readonly y: number
  readonly size: number
}

export interface Extent {
  readonly width: number
  readonly height: number
}

/** Less than this is not enough for a picture that is shown at 512 pixels. */
const SMALLEST = 128
const DEEPEST = 8

/** @returns the size of the largest square that fits */
function largest({ width, height }: Extent): number {
  return Math.min(width, height)
}

/** @returns by how much one may go closer, at most */
export function deepestZoom(picture: Extent): number {
  return Math.max(1, Math.min(DEEPEST, largest(picture) / SMALLEST))
}

/** @returns the largest square in the middle */
export function middleOf(picture: Extent): Crop {
  const size = largest(picture)
  return within(picture, { x: (picture.width - size) / 2, y: (picture.height - size) / 2, size })
}

/** @returns the square, moved by so many pixels, as far as the picture goes */
export function moved(picture: Extent, crop: Crop, right: number, down: number): Crop {
  return within(picture, { ...crop, x: crop.x + right, y: crop.y + down })
}

/** @returns the square around the same middle, so much closer than the largest one */
export function zoomed(picture: Extent, crop: Crop, zoom: number): Crop {
  const closest = Math.min(Math.max(zoom, 1), deepestZoom(picture))
  const size = Math.round(largest(picture) / closest)
  const gain = (crop.size - size) / 2
  return within(picture, { x: crop.x + gain, y: crop.y + gain, size })
}

/** @returns how close a square is: 1 for the largest one */
export function zoomOf(picture: Extent, { size }: Crop): number {
  return largest(picture) / size
}

function within({ width, height }: Extent, { x, y, size }: Crop): Crop {
  return { x: between(x, width - size), y: between(y, height - size), size }
}

/** Whole pixels: the service takes no others. */
function between(value: number, most: number): number {
  return Math.round(Math.min(Math.max(value, 0), most))
}
