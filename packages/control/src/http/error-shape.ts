// The form in which one request's errors are told, where its client knows another one than ours.

import type { FastifyRequest } from "fastify";
import type { SkerryError } from "@skerry/contract/errors";

export interface ShapedError {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

type ErrorShape = (error: SkerryError) => ShapedError;

const shapes = new WeakMap<FastifyRequest, ErrorShape>();

export function shapeErrors(request: FastifyRequest, shape: ErrorShape): void {
  shapes.set(request, shape);
}

export function errorShapeOf(request: FastifyRequest): ErrorShape | undefined {
  return shapes.get(request);
}
