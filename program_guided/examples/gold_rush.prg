# The spelling of the ProTo paper: capitals, parentheses, no header.
# seed: 1
While Env[Gold] > 0:
    Mine(Gold)
    Sell(Gold)
If IsThere(river):
    BuildBridge()
Else:
    Goto(4, 2)
