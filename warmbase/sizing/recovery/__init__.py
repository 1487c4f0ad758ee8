"""The hours after a failure or a launch: lost nodes, boosts, exports, warm-up."""
