"""The source documents' claims as things to run: each says what was claimed, what was measured, and if it holds."""

from glassformer.documents.ledger import CLAIMS, DOCUMENTS, Claim, Kept, Outcome, find, run, spelled_out

__all__ = ["CLAIMS", "DOCUMENTS", "Claim", "Kept", "Outcome", "find", "run", "spelled_out"]
