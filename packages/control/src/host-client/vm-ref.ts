/** The incarnation of a VM that a call means. */
export interface VmRef {
  readonly id: string;
  readonly execution_id: string;
}
